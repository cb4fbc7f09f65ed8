/**
 * Streams of changes, each on its own connection. Counts the events of each stream and keeps the last one, so that a burst can wait until
 * every stream has every change.
 */
import type { Socket } from 'node:net'
import type { Following } from '../servers/following.js'
import type { Running } from '../servers/server.js'
import { opened, requestText } from './crowd.js'

/** Connections being opened at the same time. */
const openingMax = 100

export class StreamCrowd {
  /** Arrival times of all streams' change events, in ms of performance.now(). */
  readonly eventsMs: number[] = []
  readonly #sockets: Socket[] = []
  /** Each stream's received text, starting at its last change. */
  readonly #tails: string[] = []
  /** Streams that have received an event. */
  readonly #begun = new Set<number>()
  #problem: string | undefined

  private constructor(
    private readonly running: Running,
    private readonly following: Following,
  ) {}

  /** Opens a stream for each item, of one group or, if undefined, of all groups, and waits until each has started. */
  static async open(
    running: Running,
    following: Following,
    groups: readonly (number | undefined)[],
  ): Promise<StreamCrowd> {
    const crowd = new StreamCrowd(running, following)
    let next = 0
    const lane = async (): Promise<void> => {
      while (next < groups.length) await crowd.#openOne(groups[next++])
    }
    await Promise.all(Array.from({ length: Math.min(openingMax, groups.length) }, lane))
    await crowd.#untilTrue(() => crowd.#begun.size === groups.length)
    return crowd
  }

  /** Change events so far. */
  get events(): number {
    return this.eventsMs.length
  }

  /** The first problem, if any. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Resolves after that many events, or after a problem. */
  until(events: number): Promise<void> {
    return this.#untilTrue(() => this.events >= events)
  }

  async #untilTrue(isSo: () => boolean): Promise<void> {
    while (!isSo() && this.#problem === undefined) await new Promise((resolve) => setImmediate(resolve))
  }

  /** Whether each stream's last change shows this value. */
  haveAll(value: string): boolean {
    const shown = this.following.shown(value)
    return this.#tails.every((tail) => tail.includes(shown))
  }

  close(): void {
    for (const socket of this.#sockets) socket.removeAllListeners('close').destroy()
  }

  async #openOne(group: number | undefined): Promise<void> {
    const { port, headers, moreKeys = [] } = this.running
    const socket = await opened(port)
    const index = this.#sockets.push(socket) - 1
    const keys = [headers, ...moreKeys]
    this.#tails.push('')
    socket.on('close', () => (this.#problem ??= 'a stream was closed'))
    socket.setEncoding('latin1').on('data', (piece: string) => this.#take(index, piece))
    const asking = { ...keys[index % keys.length], ...this.following.headers }
    socket.write(requestText(port, asking, this.following.stream(group)))
  }

  #take(index: number, piece: string): void {
    const { change, begun } = this.following
    const before = this.#tails[index] ?? ''
    const text = before + piece
    if (before === '' && !text.startsWith('HTTP/1.1 200 OK')) {
      this.#problem ??= `a stream returned ${text.slice(0, 200)}`
    }
    if (text.includes(begun)) this.#begun.add(index)
    // The previous piece may end with the first letters.
    const from = Math.max(0, before.length - change.length + 1)
    for (let at = text.indexOf(change, from); at >= 0; at = text.indexOf(change, at + 1))
      this.eventsMs.push(performance.now())
    this.#tails[index] = text.slice(Math.max(0, text.lastIndexOf(change)))
  }
}
