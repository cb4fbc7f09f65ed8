/**
 * Streams of changes, each on a connection of its own: counts the events of each, and notes the last one, so that a burst
 * can wait until everyone has everything.
 */
import type { Socket } from 'node:net'
import type { Running } from '../servers/server.js'
import { opened, requestText } from './crowd.js'

/** Connections that are being opened at the same time. */
const openingMax = 100

export class StreamCrowd {
  /** Events of all streams since they were opened. */
  events = 0
  /** When the last event came, in ms of performance.now(). */
  lastEventMs = 0
  readonly #sockets: Socket[] = []
  /** The end of what each stream was sent. */
  readonly #tails: string[] = []
  #problem: string | undefined

  /** Opens a stream for each selector, and waits for the first event of each. */
  static async open(running: Running, selectors: readonly string[]): Promise<StreamCrowd> {
    const crowd = new StreamCrowd()
    let next = 0
    const lane = async (): Promise<void> => {
      while (next < selectors.length) await crowd.#openOne(running, selectors[next++] ?? '')
    }
    await Promise.all(Array.from({ length: Math.min(openingMax, selectors.length) }, lane))
    await crowd.until(selectors.length)
    return crowd
  }

  /** What went wrong first; undefined if nothing did. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Resolves once there have been so many events, or something went wrong. */
  async until(events: number): Promise<void> {
    while (this.events < events && this.#problem === undefined) await new Promise((resolve) => setImmediate(resolve))
  }

  /** Whether the last event of every stream has this text. */
  haveAll(text: string): boolean {
    return this.#tails.every((tail) => tail.slice(tail.lastIndexOf('id: ')).includes(text))
  }

  close(): void {
    for (const socket of this.#sockets) socket.removeAllListeners('close').destroy()
  }

  async #openOne({ port, headers }: Running, selector: string): Promise<void> {
    const socket = await opened(port)
    const index = this.#sockets.push(socket) - 1
    this.#tails.push('')
    socket.on('close', () => (this.#problem ??= 'a stream was closed'))
    socket.setEncoding('latin1').on('data', (piece: string) => this.#take(index, piece))
    const body = JSON.stringify({ selector, since: 'now', size: 1000 })
    const asking = { ...headers, accept: 'text/event-stream' }
    socket.write(requestText(port, asking, { method: 'POST', path: '/topics/changes', body, expected: [] }))
  }

  #take(index: number, piece: string): void {
    const text = (this.#tails[index] ?? '') + piece
    // Counted where they begin: the text before the piece may have the first letters.
    const from = (this.#tails[index] ?? '').length
    for (let at = text.indexOf('id: ', Math.max(0, from - 3)); at >= 0; at = text.indexOf('id: ', at + 1)) this.events++
    this.lastEventMs = performance.now()
    this.#tails[index] = text.slice(Math.max(0, text.lastIndexOf('id: ')))
    if (from === 0 && !text.startsWith('HTTP/1.1 200 OK'))
      this.#problem ??= `a stream was answered ${text.slice(0, 200)}`
  }
}
