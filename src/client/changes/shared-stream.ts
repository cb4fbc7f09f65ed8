/**
 * One stream for all followers that request topics in the same form. It requests the union of their selectors and passes each
 * follower its own matches. Positions do not depend on selectors, so a follower can join later:
 *
 *     founders    followers that start in one turn, at the same position, open the stream together
 *     joining     the follower catches up with its own polls; then the stream is reopened with a larger union, from a position
 *                 before the last of those polls. A topic that is delivered twice has its current state both times
 *     leaving     the union does not shrink until the stream is reopened for another reason
 */
import type { ChangesBody } from '../../api/bodies/bodies.js'
import type { Connection } from '../connection.js'
import { TopicdError } from '../error.js'
import { anyOf } from '../selectors.js'
import type { Follower } from './follower.js'
import { PageStream, type Step } from './page-stream.js'
import { placesAt } from './places.js'

/** The service's limits for a selector: bytes, regular expressions, and characters of those with several repetitions. */
const selectorBytesMax = 8192
const wildcardsMax = 32
const wildLengthMax = 600

/** A position at which the stream had delivered everything. Later positions have greater numbers. */
export interface Position {
  readonly number: number
  readonly token: string | undefined
}

export class SharedStream {
  /** The followers, each with a callback that is called when it leaves. */
  readonly #followers = new Map<Follower, () => void>()
  /** Followers that are catching up, for which the union has room. */
  readonly #guests = new Set<Follower>()
  readonly #controller = new AbortController()
  readonly #stream: PageStream
  #state: 'founding' | 'open' | 'closed' = 'founding'
  /** The selector of the current attempt. */
  #asked: string | undefined
  /** Undefined until the initial walk is complete; until then the stream's token belongs to the selector. */
  #position: Position | undefined
  #positions = 0
  /** The number of the first position whose token is still valid. */
  #oldest = 0
  #outage: Step | undefined
  /** Lets the stream continue before a follower has taken everything. */
  #hasten = () => {}

  constructor(
    readonly connection: Connection,
    private readonly form: ChangesBody,
    private readonly since: string | undefined,
  ) {
    const members = (since: string | undefined): ChangesBody => {
      if (since === undefined || this.#position !== undefined) this.#asked = undefined
      this.#asked ??= unionOf([...this.#followers.keys()])
      return { ...form, selector: this.#asked }
    }
    const onStep = (step: Step) => this.#distribute(step)
    const places = placesAt(connection.origin)
    const { signal } = this.#controller
    this.#stream = new PageStream({ connection, members, since, places, onStep, signal })
    void Promise.resolve().then(() => this.#run())
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  /** The current position, to be read before a poll that may catch up; undefined if no follower can join yet. */
  get position(): Position | undefined {
    return this.#position
  }

  /** True if the follower gets every step; false while it is catching up. */
  has(follower: Follower): boolean {
    return this.#followers.has(follower)
  }

  /** Accepts the follower as a founder, or as a guest that must catch up and join. @returns false if it does not fit */
  take(follower: Follower, form: ChangesBody, since: string | undefined): boolean {
    const [own, other] = [this.form, form].map((members) => JSON.stringify(Object.entries(members).sort()))
    const isFounding = this.#state === 'founding'
    // An open stream would deliver earlier changes to a follower that starts at `now`.
    const fits = isFounding ? since === this.since : since !== 'now'
    if (own !== other || this.isClosed || !fits || !hasRoom([...this.#followers.keys(), ...this.#guests, follower]))
      return false
    if (isFounding) this.#followers.set(follower, () => {})
    else this.#guests.add(follower)
    return true
  }

  /** Does nothing if the position is no longer valid. @param position the position before the follower's last poll */
  join(follower: Follower, position: Position): void {
    if (this.isClosed || this.#position === undefined || position.number < this.#oldest) return
    this.#guests.delete(follower)
    this.#followers.set(follower, () => {})
    if (this.#outage !== undefined) follower.put(this.#outage)
    // The position only moves back here, because another follower may still need the changes after it.
    if (position.number < this.#position.number) this.#position = position
    this.#hasten()
    this.#stream.reopen(this.#position.token)
  }

  /** Resolves once the follower gets no more steps. */
  async left(follower: Follower): Promise<void> {
    await new Promise<void>((resolve) => {
      if (this.has(follower)) this.#followers.set(follower, resolve)
      else resolve()
    })
  }

  retry(): void {
    this.#stream.retry()
  }

  leave(follower: Follower): void {
    this.#guests.delete(follower)
    this.#followers.get(follower)?.()
    if (this.#followers.delete(follower) && this.#followers.size === 0) this.#close()
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
      // The cause may be one selector, or the size of the union.
      const mayDiffer = this.#followers.size > 1 && error instanceof TopicdError && error.status === 400
      this.#close()
      for (const follower of this.#followers.keys()) {
        if (mayDiffer) follower.matches = undefined
        else follower.fail(error)
        this.leave(follower)
      }
    }
  }

  /** Waits for the fastest follower, so that steps do not queue up if no follower takes them. */
  async #distribute(step: Step): Promise<void> {
    const isWalk = this.#position === undefined
    this.#note(step)
    for (const follower of this.#followers.keys()) {
      if (!follower.put(this.#partOf(step, follower, isWalk))) this.leave(follower)
    }
    await new Promise<void>((resolve) => {
      this.#hasten = resolve
      for (const follower of this.#followers.keys()) void follower.drained().then(resolve)
      if (this.#followers.size === 0) resolve()
    })
  }

  #note(step: Step): void {
    if (step.kind === 'restarted') {
      this.#position = undefined
      this.#oldest = this.#positions + 1
    } else if (step.kind !== 'page') this.#outage = step.kind === 'outage' ? step : undefined
    // After a return to an earlier position, only the next complete page is later than all known positions.
    else if (!step.has_more) this.#position = { number: ++this.#positions, token: step.next }
  }

  #partOf(step: Step, { selector, matches }: Follower, isWalk: boolean): Step {
    if (step.kind !== 'page') return step
    const results = matches === undefined ? step.results : step.results.filter(({ path }) => matches.test(path))
    const isOthers = isWalk && step.has_more && this.#asked !== selector
    return { ...step, results, next: isOthers ? undefined : step.next }
  }
}

function unionOf(followers: readonly Follower[]): string {
  const [first, ...others] = followers
  if (first !== undefined && others.length === 0) return first.selector
  const members = new Set(followers.flatMap(({ selector, matches }) => matches?.selectors ?? [selector]))
  return anyOf(...([...members] as [string, ...string[]]))
}

function hasRoom(followers: readonly Follower[]): boolean {
  if (followers.length === 1) return true
  if (followers.some(({ matches }) => matches === undefined)) return false
  const selectors = followers.flatMap(({ matches }) => matches?.selectors ?? [])
  // Each wildcard may be a separate regular expression.
  const wild = selectors.filter((member) => /^[?*].*[.[]/s.test(member)).join('')
  const bytes = new TextEncoder().encode(unionOf(followers)).length
  const wildcards = wild.match(/[.[]/g)?.length ?? 0
  return bytes <= selectorBytesMax && wildcards <= wildcardsMax && wild.length <= wildLengthMax
}

export class SharedStreams {
  #open: readonly SharedStream[] = []

  constructor(private readonly connection: Connection) {}

  retry(): void {
    for (const stream of this.#open) stream.retry()
  }

  /** A stream that has accepted the follower. @param form the request without `selector` and `since` */
  streamFor(follower: Follower, form: ChangesBody, since: string | undefined): SharedStream {
    this.#open = this.#open.filter(({ isClosed }) => !isClosed)
    const found = this.#open.find((stream) => stream.take(follower, form, since))
    if (found !== undefined) return found
    const stream = new SharedStream(this.connection, form, since)
    stream.take(follower, form, since)
    this.#open = [...this.#open, stream]
    return stream
  }
}
