/**
 * One iteration over changes, from the side that fills it: it finds a shared stream, catches up by polls where it comes later
 * than others, and leaves it where its consumer falls behind. What it has got waits in a queue.
 */
import type { ChangesBody } from '../../api/bodies/bodies.js'
import { abortWith } from '../wait.js'
import { type Matches, matchesOf } from './matches.js'
import { PageStream, type Step } from './page-stream.js'
import type { Delivery, Follower, Position, SharedStream, SharedStreams } from './shared-stream.js'

/** Deliveries that wait: a consumer with more takes pages by itself, as fast as it can, until it has everything. */
const queuedMax = 64

const joined = new Error('it takes part in a shared stream')

export class Subscription implements Follower {
  readonly selector: string
  readonly #form: ChangesBody
  readonly #controller = new AbortController()
  readonly #queue: Delivery[] = []
  #failure: { readonly error: unknown } | undefined
  /** Called when the queue is no longer empty, or after a failure. */
  #onFilled = () => {}
  /** True while the consumer has taken everything and waits. */
  #isWaiting = false
  /** Callbacks for when the consumer waits, or no one will take anything any more. */
  #onDrained: (() => void)[] = []
  #onLeft = () => {}
  #since: string | undefined
  #stream: SharedStream | undefined
  #matches: Matches | undefined

  /** @param isDirty the consumer has seen part of an incomplete current state */
  constructor(
    private readonly streams: SharedStreams,
    { selector = '', since, ...form }: ChangesBody,
    private isDirty: boolean,
  ) {
    this.selector = selector
    this.#matches = matchesOf(selector)
    this.#since = since
    this.#form = form
    void this.#fill()
  }

  get matches(): Matches | undefined {
    return this.#matches
  }

  /** @throws TopicdError when the service refuses for good; the signal's reason; a defect */
  async next(signal: AbortSignal | undefined): Promise<Delivery> {
    signal?.throwIfAborted()
    if (this.#queue.length === 0 && this.#failure === undefined) await this.#filled(signal)
    const delivery = this.#queue.shift()
    if (delivery === undefined) throw this.#failure?.error
    return delivery
  }

  async #filled(signal: AbortSignal | undefined): Promise<void> {
    this.#isWaiting = true
    this.#release()
    await new Promise<void>((resolve) => {
      this.#onFilled = resolve
      signal?.addEventListener('abort', this.#onFilled)
    })
    this.#isWaiting = false
    signal?.removeEventListener('abort', this.#onFilled)
    signal?.throwIfAborted()
  }

  end(): void {
    this.#controller.abort()
    this.#stream?.leave(this)
    this.#queue.length = 0
    this.#release()
    this.#onLeft()
  }

  deliver(delivery: Delivery): boolean {
    this.#put(delivery)
    if (this.#queue.length < queuedMax) return true
    void this.drained().then(this.#onLeft)
    return false
  }

  drained(): Promise<void> {
    if (this.#isWaiting && this.#queue.length === 0) return Promise.resolve()
    return new Promise((resolve) => this.#onDrained.push(resolve))
  }

  onEnd(error: unknown): void {
    if (error === undefined) this.#matches = undefined
    else this.#fail(error)
    this.#onLeft()
  }

  async #fill(): Promise<void> {
    const { signal } = this.#controller
    try {
      while (!signal.aborted && this.#failure === undefined) {
        if (this.#since === undefined && this.isDirty) this.#put('restarted')
        const stream = this.streams.streamFor(this, this.#form, this.#since)
        this.#stream = stream
        const left = new Promise<void>((resolve) => {
          this.#onLeft = resolve
        })
        if (stream.found(this) || (await this.#catchUp(stream))) await left
      }
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Polls until it has everything, and joins. @returns false if the stream has ended before */
  async #catchUp(stream: SharedStream): Promise<boolean> {
    const polling = new AbortController()
    const release = abortWith(this.#controller.signal, polling)
    let position: Position | undefined
    let isIn = false
    const onStep = async (step: Step) => {
      this.#put(step)
      await this.drained()
      if (polling.signal.aborted) return
      const hasAll = typeof step === 'object' && 'has_more' in step && !step.has_more
      if (hasAll && position !== undefined) isIn = stream.join(this, position)
      if (isIn || stream.isClosed) polling.abort(joined)
    }
    const members = () => {
      position = stream.position
      return { ...this.#form, selector: this.selector }
    }
    const { connection } = this.streams
    const polls = new PageStream({ connection, members, since: this.#since, places: undefined, onStep }, polling.signal)
    try {
      return await polls.run()
    } catch (error) {
      if (error !== joined && !this.#controller.signal.aborted) throw error
      return isIn
    } finally {
      release()
    }
  }

  #put(delivery: Delivery): void {
    if (delivery === 'restarted') {
      this.#since = undefined
      this.isDirty = false
    } else if (typeof delivery === 'object' && 'results' in delivery) {
      this.#since = delivery.next ?? this.#since
      this.isDirty ||= delivery.results.length > 0
    }
    this.#queue.push(delivery)
    this.#onFilled()
  }

  #release(): void {
    for (const onDrained of this.#onDrained.splice(0)) onDrained()
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
    this.#onFilled()
  }
}
