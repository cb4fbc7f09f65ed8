/** Sends requests in turn over one connection, for bursts that a driver cannot produce; each must return 200. */
import { Agent, request } from 'node:http'
import { byEvents, type Following } from '../servers/following.js'
import type { Running } from '../servers/server.js'

/** Topics written per transaction. */
const operationsMax = 1000

/** A connection that writes the topics of groups, and sends other requests. */
export class Poster {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(
    private readonly running: Running,
    private readonly following = byEvents,
  ) {}

  /** Writes the topics of the first `groups` groups. */
  async write(groups: number, value: string): Promise<void> {
    const all = Array.from({ length: groups }, (_, i) => i)
    for (let from = 0; from < groups; from += operationsMax) {
      await this.#send(this.following.write(all.slice(from, from + operationsMax), value))
    }
  }

  post(route: string, body: object): Promise<void> {
    return this.#send({ method: 'POST', path: `/topics/${route}`, body: JSON.stringify(body) })
  }

  #send({ method, path, body }: ReturnType<Following['write']>): Promise<void> {
    const { port, headers } = this.running
    return new Promise((resolve, reject) => {
      const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent: this.#agent }, (incoming) => {
        let answer = ''
        incoming.setEncoding('utf8').on('data', (piece: string) => (answer += piece))
        incoming.on('end', () => {
          if (incoming.statusCode === 200) resolve()
          else reject(new Error(`${path} returned ${incoming.statusCode}: ${answer}`))
        })
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
