/**
 * A proxy in front of an engine that simulates network faults: it refuses connections, freezes, falls silent after the login, or delays a
 * statement. A fault applies to all its connections, including those that are already open.
 */
import { strict as assert } from 'node:assert'
import { connect, Socket } from 'node:net'
import type { Test } from 'tap'
import { type Ends, Relay } from '../service/relay.js'

/**
 * - pass: everything goes through, first the data that was frozen
 * - refuse: open connections are closed, and new ones immediately
 * - freeze: nothing goes through in either direction until `pass`
 * - silent: connections opened from now on are logged in, but no data goes through after that
 */
export type Fault = 'pass' | 'refuse' | 'freeze' | 'silent'

/** The first bytes of the message by which an engine announces that it is ready for a statement. */
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5])

interface Hold {
  readonly texts: readonly Buffer[]
  readonly ms: number
  onHeld: () => void
}

export class FaultProxy {
  fault: Fault = 'pass'
  /** Whether the engine gets these bytes, but their connection closes before the response. */
  losesAnswer: (bytes: Buffer) => boolean = () => false
  /** Whether the engine gets these bytes, but their connection reads nothing from it until `pass`, like a frozen host. */
  stopsReading: (bytes: Buffer) => boolean = () => false
  readonly #relay: Relay
  /** Connections whose data is no longer forwarded. */
  readonly #silent = new WeakSet<Ends>()
  /** Data on its way to each end, so that the order is preserved. */
  readonly #onItsWay = new WeakMap<Socket, Promise<void>>()
  #frozen: (() => void)[] = []
  readonly #stopped: Socket[] = []
  #hold: Hold | undefined

  private constructor(relay: Relay, engine: () => Socket) {
    this.#relay = relay
    relay.target = () => (this.fault === 'refuse' ? new Socket().destroy() : engine())
    relay.pass = (bytes, to, ends) => {
      if (this.#silent.has(ends)) return
      const before = this.#onItsWay.get(ends[to]) ?? Promise.resolve()
      const sent = before.then(() => this.#forward(bytes, to, ends))
      this.#onItsWay.set(ends[to], sent)
      if (to === 'client' && this.fault === 'silent' && bytes.includes(readyForQuery)) this.#silent.add(ends)
    }
  }

  /** Runs until the test ends. `address` is the engine's, a postgres:// URL with a host or a directory of sockets. */
  static async start(t: Test, address: string): Promise<FaultProxy> {
    const url = new URL(address.replace('///', '//localhost/'))
    const directory = url.searchParams.get('host')
    const port = Number(url.port || 5432)
    const engine = () => (directory === null ? connect(port, url.hostname) : connect(`${directory}/.s.PGSQL.${port}`))
    return new FaultProxy(await Relay.open(t, engine), engine)
  }

  /** The address of the same database through this proxy. */
  addressOf(address: string): string {
    const url = new URL(address.replace('///', '//localhost/'))
    url.searchParams.delete('host')
    const user = url.searchParams.get('user') ?? url.username
    url.searchParams.delete('user')
    return `postgres://${user}@127.0.0.1:${this.#relay.port}${url.pathname}`
  }

  set(fault: Fault): void {
    this.fault = fault
    if (fault === 'refuse') this.cut()
    if (fault !== 'pass') return
    for (const forward of this.#frozen.splice(0)) forward()
    for (const engine of this.#stopped.splice(0)) engine.resume()
  }

  /** Closes every connection. */
  cut(): void {
    this.#relay.cut()
  }

  /** Delays the next statement whose message contains these strings, such as its prepared name; resolves when it arrives. */
  holdNext(texts: readonly string[], ms: number): Promise<void> {
    assert(this.#hold === undefined, 'only one statement can be delayed at a time')
    return new Promise((onHeld) => {
      this.#hold = { texts: texts.map((text) => Buffer.from(text)), ms, onHeld }
    })
  }

  async #forward(bytes: Buffer, to: keyof Ends, ends: Ends): Promise<void> {
    const hold = this.#hold
    if (to === 'service' && hold?.texts.every((text) => bytes.includes(text))) {
      this.#hold = undefined
      hold.onHeld()
      await new Promise((resolve) => setTimeout(resolve, hold.ms))
    }
    if (this.fault === 'freeze') await new Promise<void>((resolve) => this.#frozen.push(resolve))
    if (to === 'service' && this.stopsReading(bytes)) this.#stopped.push(ends.service.pause())
    ends[to].write(bytes)
    if (to === 'service' && this.losesAnswer(bytes)) ends.client.destroy()
  }
}
