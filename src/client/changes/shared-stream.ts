/**
 * One stream for all who follow topics in the same form. It asks for the union of their selectors, and gives each what its own
 * selector matches. Positions do not depend on selectors, so another can join later:
 *
 *     founders    those who begin in one turn, at the same position, open the stream together
 *     joining     it has got everything by polls of its own; the stream is then opened anew, with a larger union, from a
 *                 position that it had before the last of those polls. What is shown twice is as it is now both times
 *     leaving     the union stays as it is until the stream is opened anew for another reason
 */
import type { ChangesBody } from '../../api/bodies/bodies.js'
import type { Connection } from '../connection.js'
import { TopicdError } from '../error.js'
import { anyOf } from '../selectors.js'
import type { ChangesPage } from './attempt.js'
import type { Matches } from './matches.js'
import { type Outage, PageStream, type Step } from './page-stream.js'
import { placesAt } from './places.js'

/** The service's limits for a selector: bytes, regular expressions, characters of those with several repetitions. */
const selectorBytesMax = 8192
const wildcardsMax = 32
const wildLengthMax = 600

/** The token of a page may belong to the walk of another selector: then there is none. */
export type Delivery = (Omit<ChangesPage, 'next'> & { readonly next: string | undefined }) | Exclude<Step, ChangesPage>

export interface Follower {
  readonly selector: string
  /** Undefined if only the service can decide: then it has its own stream. */
  readonly matches: Matches | undefined
  /** False if it takes nothing more and leaves. */
  deliver(delivery: Delivery): boolean
  /** Resolves once its consumer has taken everything. */
  drained(): Promise<void>
  /** @param error undefined if its selector may be followed in another stream */
  onEnd(error: unknown): void
}

/** At this position the stream had everything. Greater numbers are later. */
export interface Position {
  readonly number: number
  readonly token: string
}

export class SharedStream {
  readonly #followers = new Set<Follower>()
  readonly #joining = new Set<Follower>()
  readonly #controller = new AbortController()
  readonly #stream: PageStream
  #state: 'founding' | 'open' | 'closed' = 'founding'
  /** The selector of the current attempt. */
  #asked: string | undefined
  /** Undefined until it has had everything: until then the stream's token belongs to its selector. */
  #position: Position | undefined
  #positions = 0
  /** The number of the first position that the service still knows. */
  #oldest = 0
  #outage: Outage | undefined
  /** Continues although no follower has taken everything. */
  #hasten = () => {}

  constructor(
    connection: Connection,
    form: ChangesBody,
    private readonly since: string | undefined,
  ) {
    const members = (since: string | undefined): ChangesBody => {
      if (since === undefined || this.#position !== undefined) this.#asked = undefined
      this.#asked ??= unionOf(this.#followers)
      return { ...form, selector: this.#asked }
    }
    this.#stream = new PageStream(
      {
        connection,
        members,
        since,
        places: placesAt(connection.origin),
        onStep: (step) => this.#distribute(step),
      },
      this.#controller.signal,
    )
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  /** Read it before a poll that may get everything; undefined if no one can join yet. */
  get position(): Position | undefined {
    return this.#position
  }

  /** True if it may take the follower, immediately or after the follower's own polls. */
  mayTake(follower: Follower, since: string | undefined): boolean {
    // A stream that is open would show one who begins now what came before.
    const fits = this.#state === 'founding' ? since === this.since : since !== 'now'
    return !this.isClosed && fits && hasRoom([...this.#followers, ...this.#joining, follower])
  }

  /** @returns false if it is too late to take part from the start */
  found(follower: Follower): boolean {
    if (this.#state !== 'founding') return false
    if (this.#followers.size === 0) void Promise.resolve().then(() => this.#run())
    this.#followers.add(follower)
    return true
  }

  /** @param position read before the follower requested what it has got @returns false if it is no longer known */
  join(follower: Follower, position: Position): boolean {
    const isKnown = this.#position !== undefined && position.number >= this.#oldest
    if (this.isClosed || !isKnown || !hasRoom([...this.#followers, ...this.#joining, follower])) return false
    if (this.#joining.size === 0) void Promise.resolve().then(() => this.#admit())
    this.#joining.add(follower)
    // Others may be owed what came after an earlier one.
    if (position.number < (this.#position?.number ?? 0)) this.#position = position
    return true
  }

  retry(): void {
    this.#stream.retry()
  }

  leave(follower: Follower): void {
    const wasHere = this.#followers.delete(follower) || this.#joining.delete(follower)
    if (wasHere && this.#followers.size + this.#joining.size === 0) this.#close()
  }

  #close(): void {
    this.#state = 'closed'
    this.#controller.abort()
  }

  async #run(): Promise<void> {
    if (this.isClosed) return
    this.#state = 'open'
    try {
      await this.#stream.run()
    } catch (error) {
      const followers = [...this.#followers, ...this.#joining]
      this.#followers.clear()
      this.#joining.clear()
      this.#close()
      // One selector may be the reason, or the size of all.
      const mayDiffer = followers.length > 1 && error instanceof TopicdError && error.status === 400
      for (const follower of followers) follower.onEnd(mayDiffer ? undefined : error)
    }
  }

  /** Opens the stream again for all who have joined in this turn. */
  #admit(): void {
    if (this.isClosed || this.#joining.size === 0 || this.#position === undefined) return
    for (const follower of this.#joining) {
      this.#followers.add(follower)
      if (this.#outage !== undefined) follower.deliver(this.#outage)
    }
    this.#joining.clear()
    this.#hasten()
    this.#stream.reopen(this.#position.token)
  }

  /** Goes at the pace of the fastest follower, so that none need queue what nobody takes. */
  async #distribute(step: Step): Promise<void> {
    const isWalk = this.#position === undefined
    this.#note(step)
    for (const follower of [...this.#followers]) {
      if (!follower.deliver(this.#partOf(step, follower, isWalk))) this.leave(follower)
    }
    await new Promise<void>((resolve) => {
      this.#hasten = resolve
      for (const follower of this.#followers) void follower.drained().then(resolve)
      if (this.#followers.size === 0) resolve()
    })
  }

  #note(step: Step): void {
    if (step === 'restarted') {
      this.#position = undefined
      this.#oldest = this.#positions + 1
    } else if (step === 'connected') this.#outage = undefined
    else if ('outage' in step) this.#outage = step
    // After a return to an earlier position it is later than all before it only once it has everything again.
    else if (!step.has_more) this.#position = { number: ++this.#positions, token: step.next }
  }

  #partOf(step: Step, { selector, matches }: Follower, isWalk: boolean): Delivery {
    if (typeof step === 'string' || 'outage' in step) return step
    const results = matches === undefined ? step.results : step.results.filter(({ path }) => matches.test(path))
    const isOthers = isWalk && step.has_more && this.#asked !== selector
    return { ...step, results, next: isOthers ? undefined : step.next }
  }
}

function unionOf(followers: Iterable<Follower>): string {
  const [first, ...others] = followers
  if (first !== undefined && others.length === 0) return first.selector
  const members = new Set([...followers].flatMap(({ selector, matches }) => matches?.selectors ?? [selector]))
  return anyOf(...([...members] as [string, ...string[]]))
}

function hasRoom(followers: readonly Follower[]): boolean {
  if (followers.length === 1) return true
  if (!followers.every(({ matches }) => matches !== undefined)) return false
  const sum = (of: 'wildcards' | 'wildLength') =>
    followers.reduce((total, { matches }) => total + (matches?.[of] ?? 0), 0)
  const bytes = new TextEncoder().encode(unionOf(followers)).length
  return bytes <= selectorBytesMax && sum('wildcards') <= wildcardsMax && sum('wildLength') <= wildLengthMax
}

export class SharedStreams {
  readonly #streams = new Map<string, SharedStream[]>()

  constructor(readonly connection: Connection) {}

  retry(): void {
    for (const streams of this.#streams.values()) for (const stream of streams) stream.retry()
  }

  /** May create one. @param form the request without `selector` and `since` */
  streamFor(follower: Follower, form: ChangesBody, since: string | undefined): SharedStream {
    const name = JSON.stringify(Object.entries(form).sort())
    const open = (this.#streams.get(name) ?? []).filter(({ isClosed }) => !isClosed)
    const found = open.find((stream) => stream.mayTake(follower, since))
    if (found !== undefined) return found
    const stream = new SharedStream(this.connection, form, since)
    this.#streams.set(name, [...open, stream])
    return stream
  }
}
