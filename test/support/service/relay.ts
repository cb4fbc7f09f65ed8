/**
 * Where a client is told to connect: between it and a service or an engine, this counts its connections, breaks them, and
 * does with the bytes what a test wants.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

/** The two ends of a connection. */
export interface Ends {
  readonly client: Socket
  readonly service: Socket
}

/** What becomes of bytes: by default they are written to the other end. */
export type Pass = (bytes: Buffer, to: 'client' | 'service', ends: Ends) => void

const passOn: Pass = (bytes, to, ends) => void ends[to].write(bytes)

/** Joins two sockets. What came before one of them closes is still handed on. */
export function joinSockets(ends: Ends, pass: Pass): void {
  for (const [from, to] of [
    ['client', 'service'],
    ['service', 'client'],
  ] as const) {
    ends[from]
      .on('error', () => {})
      .on('data', (bytes: Buffer) => pass(bytes, to, ends))
      .on('close', () => ends[to].end())
  }
}

export class Relay {
  /** How many connections it has accepted. */
  connections = 0
  readonly #open = new Set<Ends>()
  readonly #server = createServer((client) => this.#accept(client))

  private constructor(
    /** Where the next connection leads: a port of this machine, or what connects. */
    public target: number | (() => Socket),
    public pass = passOn,
  ) {}

  /** Until the test's end. */
  static async open(t: Test, target: number | (() => Socket), pass?: Pass): Promise<Relay> {
    const relay = new Relay(target, pass)
    relay.#server.listen(0, '127.0.0.1')
    await once(relay.#server, 'listening')
    t.teardown(() => {
      relay.#server.close()
      relay.cut()
    })
    return relay
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Ends every connection, with whatever is on its way. */
  cut(): void {
    for (const { client, service } of this.#open) {
      client.destroy()
      service.destroy()
    }
  }

  #accept(client: Socket): void {
    this.connections++
    const { target } = this
    const ends = { client, service: typeof target === 'number' ? connect(target, '127.0.0.1') : target() }
    this.#open.add(ends)
    client.on('close', () => this.#open.delete(ends))
    joinSockets(ends, (bytes, to) => this.pass(bytes, to, ends))
  }
}
