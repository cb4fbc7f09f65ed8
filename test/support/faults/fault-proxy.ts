/**
 * A proxy in front of an engine that simulates the faults of a network: it refuses connections, freezes, falls silent
 * after the log-in, or delays a statement. A fault applies to all its connections, including those already open.
 */
import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'

/**
 * - pass: everything goes through, what was frozen first
 * - refuse: open connections are closed, and new ones at once
 * - freeze: nothing goes through in either direction until `pass`
 * - silent: connections made from now on are logged in, and nothing ever goes through after that
 */
export type Fault = 'pass' | 'refuse' | 'freeze' | 'silent'

/** The first bytes of the message with which an engine is ready for a statement. */
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5])

interface Hold {
  readonly text: Buffer
  readonly ms: number
  onHeld: () => void
}

class Link {
  #silent = false
  #waiting: (() => void)[] = []
  /** What is on its way in each direction, so that the order is kept. */
  #toEngine: Promise<void> = Promise.resolve()
  #toClient: Promise<void> = Promise.resolve()

  constructor(
    readonly proxy: FaultProxy,
    readonly client: Socket,
    readonly engine: Socket,
  ) {
    const end = (): void => {
      client.destroy()
      engine.destroy()
    }
    for (const socket of [client, engine]) socket.on('error', end).on('close', end)
    client.on('data', (bytes) => {
      if (!this.#silent) this.#toEngine = this.#toEngine.then(() => this.#forward(bytes, engine))
    })
    engine.on('data', (bytes) => {
      if (this.#silent) return
      this.#toClient = this.#toClient.then(() => this.#forward(bytes, client))
      if (this.proxy.fault === 'silent' && bytes.includes(readyForQuery)) this.#silent = true
    })
  }

  /** Forwards what was frozen. */
  release(): void {
    for (const forward of this.#waiting.splice(0)) forward()
  }

  async #forward(bytes: Buffer, to: Socket): Promise<void> {
    const hold = to === this.engine ? this.proxy.takeHold(bytes) : undefined
    if (hold !== undefined) {
      hold.onHeld()
      await new Promise((resolve) => setTimeout(resolve, hold.ms))
    }
    if (this.proxy.fault === 'freeze') await new Promise<void>((resolve) => this.#waiting.push(resolve))
    to.write(bytes)
  }
}

export class FaultProxy {
  fault: Fault = 'pass'
  readonly #links = new Set<Link>()
  readonly #server: Server
  #hold: Hold | undefined

  private constructor(host: string | undefined, port: number, path: string | undefined) {
    this.#server = createServer((client) => {
      if (this.fault === 'refuse') return void client.destroy()
      const engine = path === undefined ? connect(port, host) : connect(path)
      const link = new Link(this, client, engine)
      this.#links.add(link)
      client.once('close', () => this.#links.delete(link))
    })
  }

  /** Until the test's end. `address` is the engine's, a postgres:// URL with a host or a directory of sockets. */
  static async start(t: Test, address: string): Promise<FaultProxy> {
    const url = new URL(address.replace('///', '//localhost/'))
    const directory = url.searchParams.get('host')
    const port = Number(url.port || 5432)
    const path = directory === null ? undefined : `${directory}/.s.PGSQL.${port}`
    const proxy = new FaultProxy(url.hostname, port, path)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    t.teardown(() => proxy.#close())
    return proxy
  }

  /** The address of the same database through this proxy. */
  addressOf(address: string): string {
    const url = new URL(address.replace('///', '//localhost/'))
    url.searchParams.delete('host')
    const { port } = this.#server.address() as AddressInfo
    const user = url.searchParams.get('user') ?? url.username
    url.searchParams.delete('user')
    return `postgres://${user}@127.0.0.1:${port}${url.pathname}`
  }

  set(fault: Fault): void {
    this.fault = fault
    if (fault === 'refuse') this.cut()
    if (fault === 'pass') for (const link of this.#links) link.release()
  }

  /** Ends every connection. */
  cut(): void {
    for (const { client, engine } of this.#links) {
      client.destroy()
      engine.destroy()
    }
  }

  /** Delays the next statement whose message contains `text`, such as its prepared name; resolves when it arrives. */
  holdNext(text: string, ms: number): Promise<void> {
    assert(this.#hold === undefined, 'only one statement can be delayed at a time')
    return new Promise((onHeld) => {
      this.#hold = { text: Buffer.from(text), ms, onHeld }
    })
  }

  takeHold(bytes: Buffer): Hold | undefined {
    const hold = this.#hold
    if (hold === undefined || !bytes.includes(hold.text)) return undefined
    this.#hold = undefined
    return hold
  }

  async #close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
