/**
 * A bare TCP connection for tests of HTTP itself: bytes are sent verbatim, and received bytes are kept as text. Responses are separated
 * only by their content-length; a response without one, such as a 204 or a 304, has no body.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Client } from './client.js'

export interface RawAnswer {
  readonly status: number
  /** Status line and headers, in lower case, without the empty line. */
  readonly head: string
  readonly body: string
}

export class RawConnection {
  /** Everything received so far, as latin1, so that one character is one byte. */
  received = ''
  /** Resolves when the connection is closed, for any reason. */
  readonly closed: Promise<void>
  isClosed = false

  readonly #socket: Socket
  readonly #watchers = new Set<() => void>()

  /** Resolves when the connection is open. */
  static async open(host: string, port: number): Promise<RawConnection> {
    const socket = connect({ host, port, noDelay: true, allowHalfOpen: true })
    await once(socket, 'connect')
    return new RawConnection(socket)
  }

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1').on('data', (text: string) => {
      this.received += text
      this.#notify()
    })
    // A reset also closes the connection: 'close' follows.
    socket.on('error', () => {})
    // Closes our half once the server has closed its own, as clients do.
    socket.on('end', () => socket.end())
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.isClosed = true
        resolve()
        this.#notify()
      })
    })
  }

  /** Hands bytes to the kernel; resolves when the kernel has taken them. On a closed connection they are dropped. */
  write(data: string | Buffer): Promise<void> {
    return new Promise((resolve) => this.#socket.write(data, () => resolve()))
  }

  /** Reads nothing until `resume`, like a client that sends everything first: received data waits in the kernel. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Closes our half: nothing more will be sent, but responses can still arrive. */
  end(): void {
    this.#socket.end()
  }

  /** Resets the connection. */
  abort(): void {
    this.#socket.resetAndDestroy()
  }

  close(): void {
    this.#socket.destroy()
  }

  /** The first `count` complete responses; fewer if the connection closes earlier. */
  async answers(count: number): Promise<RawAnswer[]> {
    return new Promise((resolve) => {
      const watcher = () => {
        const found = parseAnswers(this.received)
        if (found.length < count && !this.isClosed) return
        this.#watchers.delete(watcher)
        resolve(found.slice(0, count))
      }
      this.#watchers.add(watcher)
      watcher()
    })
  }

  /** The first response; undefined if the connection closes without one. */
  async answer(): Promise<RawAnswer | undefined> {
    return (await this.answers(1)).at(0)
  }

  /** All complete responses so far, and the rest of the received text. */
  parsed(): { readonly answers: readonly RawAnswer[]; readonly rest: string } {
    const answers = parseAnswers(this.received)
    const bytes = answers.reduce((sum, { head, body }) => sum + head.length + 4 + body.length, 0)
    return { answers, rest: this.received.slice(bytes) }
  }

  #notify(): void {
    for (const watcher of this.#watchers) watcher()
  }
}

/** The text of a request that is well formed unless `headers` make it malformed. */
export function requestText(route: string, token: string, body: string, headers: readonly string[] = []): string {
  const bytes = Buffer.byteLength(body)
  const lines = [
    `POST ${route} HTTP/1.1`,
    'host: topicd',
    `authorization: Apikey ${token}`,
    'content-type: application/json',
  ]
  return [...lines, `content-length: ${bytes}`, ...headers, '', body].join('\r\n')
}

/** The head of a request with these headers; a length is sent only if it is among them. */
export function headText(route: string, token: string, ...headers: readonly string[]): string {
  return requestText(route, token, '', headers).replace('content-length: 0\r\n', '')
}

/** The head of a request whose body follows in chunks. */
export const chunkedHead = (route: string, token: string): string =>
  headText(route, token, 'transfer-encoding: chunked')

/**
 * Sends requests over connections to every worker. When all have a response, each worker has completed a turn of its event loop, and has
 * read all data written earlier to its other connections.
 */
export async function barrier({ client }: { readonly client: Client }): Promise<void> {
  await Promise.all(Array.from({ length: client.connections }, () => client.post('fetch', { selector: 'none' })))
}

/** The complete responses at the start of `received`. */
function parseAnswers(received: string): RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let start = 0; ; ) {
    const headEnd = received.indexOf('\r\n\r\n', start)
    if (headEnd === -1) return answers
    const head = received.slice(start, headEnd).toLowerCase()
    const end = headEnd + 4 + Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0)
    if (received.length < end) return answers
    answers.push({ status: Number(head.slice(9, 12)), head, body: received.slice(headEnd + 4, end) })
    start = end
  }
}
