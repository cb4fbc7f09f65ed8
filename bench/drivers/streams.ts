/**
 * Streams of changes, each on a connection of its own: counts the events of each, and notes the last one, so that a burst
 * can wait until everyone has everything.
 */
import type { Socket } from 'node:net'
import type { Running } from '../servers/server.js'
import { opened, requestText } from './crowd.js'

/** Each event with a change has this once; the first one and signs of life do not. */
const change = '"value":'

/** Connections that are being opened at the same time. */
const openingMax = 100

export class StreamCrowd {
  /** Events with a change, of all streams since they were opened. */
  events = 0
  /** When the last event came, in ms of performance.now(). */
  lastEventMs = 0
  readonly #sockets: Socket[] = []
  /** What each stream was sent since its last change began. */
  readonly #tails: string[] = []
  /** Streams that have had an event. */
  readonly #begun = new Set<number>()
  #problem: string | undefined

  /** Opens a stream for each selector, and waits for the first event of each. */
  static async open(running: Running, selectors: readonly string[]): Promise<StreamCrowd> {
    const crowd = new StreamCrowd()
    let next = 0
    const lane = async (): Promise<void> => {
      while (next < selectors.length) await crowd.#openOne(running, selectors[next++] ?? '')
    }
    await Promise.all(Array.from({ length: Math.min(openingMax, selectors.length) }, lane))
    await crowd.#untilTrue(() => crowd.#begun.size === selectors.length)
    return crowd
  }

  /** What went wrong first; undefined if nothing did. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Resolves once there have been so many events, or something went wrong. */
  until(events: number): Promise<void> {
    return this.#untilTrue(() => this.events >= events)
  }

  async #untilTrue(isSo: () => boolean): Promise<void> {
    while (!isSo() && this.#problem === undefined) await new Promise((resolve) => setImmediate(resolve))
  }

  /** Whether the last change that each stream was sent has this text. */
  haveAll(text: string): boolean {
    return this.#tails.every((tail) => tail.includes(text))
  }

  close(): void {
    for (const socket of this.#sockets) socket.removeAllListeners('close').destroy()
  }

  async #openOne({ port, headers, moreKeys = [] }: Running, selector: string): Promise<void> {
    const socket = await opened(port)
    const index = this.#sockets.push(socket) - 1
    const keys = [headers, ...moreKeys]
    this.#tails.push('')
    socket.on('close', () => (this.#problem ??= 'a stream was closed'))
    socket.setEncoding('latin1').on('data', (piece: string) => this.#take(index, piece))
    const body = JSON.stringify({ selector, since: 'now', size: 1000 })
    const asking = { ...keys[index % keys.length], accept: 'text/event-stream' }
    socket.write(requestText(port, asking, { method: 'POST', path: '/topics/changes', body, expected: [] }))
  }

  #take(index: number, piece: string): void {
    const before = this.#tails[index] ?? ''
    const text = before + piece
    if (before === '' && !text.startsWith('HTTP/1.1 200 OK')) {
      this.#problem ??= `a stream was answered ${text.slice(0, 200)}`
    }
    if (text.includes('id: ')) this.#begun.add(index)
    // The text before the piece may have the first letters.
    const from = Math.max(0, before.length - change.length + 1)
    for (let at = text.indexOf(change, from); at >= 0; at = text.indexOf(change, at + 1)) this.events++
    this.lastEventMs = performance.now()
    this.#tails[index] = text.slice(Math.max(0, text.lastIndexOf(change)))
  }
}
