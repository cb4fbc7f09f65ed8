/**
 * Streams of changes, each on a connection of its own: counts the events of each, and notes the last one, so that a burst
 * can wait until everyone has everything.
 */
import type { Socket } from 'node:net'
import type { Following } from '../servers/following.js'
import type { Running } from '../servers/server.js'
import { opened, requestText } from './crowd.js'

/** Connections that are being opened at the same time. */
const openingMax = 100

export class StreamCrowd {
  /** When each event with a change came, of all streams since they were opened, in ms of performance.now(). */
  readonly eventsMs: number[] = []
  readonly #sockets: Socket[] = []
  /** What each stream was sent since its last change began. */
  readonly #tails: string[] = []
  /** Streams that have had an event. */
  readonly #begun = new Set<number>()
  #problem: string | undefined

  private constructor(
    private readonly running: Running,
    private readonly following: Following,
  ) {}

  /** Opens a stream for each of these groups, or of all groups, and waits until each has begun. */
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

  /** Events with a change so far. */
  get events(): number {
    return this.eventsMs.length
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

  /** Whether the last change that each stream was sent shows this value. */
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
      this.#problem ??= `a stream was answered ${text.slice(0, 200)}`
    }
    if (text.includes(begun)) this.#begun.add(index)
    // The text before the piece may have the first letters.
    const from = Math.max(0, before.length - change.length + 1)
    for (let at = text.indexOf(change, from); at >= 0; at = text.indexOf(change, at + 1))
      this.eventsMs.push(performance.now())
    this.#tails[index] = text.slice(Math.max(0, text.lastIndexOf(change)))
  }
}
