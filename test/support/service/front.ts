/**
 * Where a publisher is told to connect: between it and the service, this counts its connections and breaks them, and
 * leads to the service wherever it is started next.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

export class Front {
  /** How many connections it has accepted. */
  connections = 0
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((client) => this.#join(client, connect(this.servicePort, '127.0.0.1')))

  private constructor(public servicePort: number) {}

  /** Until the test's end. */
  static async open(t: Test, servicePort: number): Promise<Front> {
    const front = new Front(servicePort)
    front.#server.listen(0, '127.0.0.1')
    await once(front.#server, 'listening')
    t.teardown(() => {
      front.#server.close()
      front.cut()
    })
    return front
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Ends every connection, with whatever is on its way. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #join(client: Socket, service: Socket): void {
    this.connections++
    for (const [socket, other] of [
      [client, service],
      [service, client],
    ] as const) {
      this.#sockets.add(socket)
      socket
        .on('error', () => {})
        .on('data', (bytes) => other.write(bytes))
        .on('close', () => {
          this.#sockets.delete(socket)
          // What was received before is still handed on.
          other.end()
        })
    }
  }
}
