/**
 * A relay that a client connects to, in front of a service or an engine. It counts connections, breaks them, and handles their bytes as a
 * test requires.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

/** The two ends of a connection. */
export interface Ends {
  readonly client: Socket
  readonly service: Socket
}

/** Handles bytes; by default they are written to the other end. */
export type Pass = (bytes: Buffer, to: 'client' | 'service', ends: Ends) => void

const passOn: Pass = (bytes, to, ends) => void ends[to].write(bytes)

/** Joins two sockets. Bytes that arrived before one of them closes are still forwarded. */
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
  /** Number of accepted connections. */
  connections = 0
  readonly #open = new Set<Ends>()
  readonly #server = createServer((client) => this.#accept(client))

  private constructor(
    /** The target of the next connection: a port of this machine, or a function that connects. */
    public target: number | (() => Socket),
    public pass = passOn,
  ) {}

  /** Opens a relay until the test ends. */
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

  /** Closes every connection and drops all data on its way. */
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
