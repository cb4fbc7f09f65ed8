/**
 * Live changes for all listeners of this process. While there are listeners, the feed follows the log. A commit's changes are
 * read once, unless the commit was announced and matches no listener. The feed looks up the matching scopes and reads each
 * topic once per form; all listeners with equal scopes get the same pages.
 *
 * A listener has no queue. It gets the pages that follow the feed's position if it can take them immediately. If it cannot,
 * or there are too many changes, it reads the log itself from its own position (pages.ts). It joins before it reads, and stops
 * reading when it has everything that it was notified of in the meantime. A page from the feed may be older than a listener's
 * own position, and must not move the listener backwards.
 */
import { type Awaitable, whenKnown } from '../base/awaitable.js'
import { inTurn, type Slice, waitForSlice } from '../base/time-slices.js'
import type { ChangeReader, LoggedChanges, LoggedCommit, LogPlace, LogSnapshot } from '../store/changes.js'
import type { ItemForm } from '../store/topics.js'
import { pathOfKeyText } from '../topics/key.js'
import { type Frame, framed, frameOf, type PageBytes, resultOf } from './page.js'
import { RangeIndex } from './range-index.js'
import type { Scope } from './scope.js'
import type { Position } from './token.js'

/** Maximum changes per reading: a few full commits. If there are more, each listener reads the log itself. */
const keysAtOnceMax = 30_000

/** Time limit for matching patterns, in ms: other requests must wait. Listeners match the rest in slices. Ranges cost almost nothing. */
const matchingMsMax = 20

/** Maximum bytes of items per reading and form, for all listeners together: a few commits of ordinary topics. */
const itemsBytesMax = 16 * 1024 * 1024

/** Small, because unread pages are buffered. Unless one result is larger, a line stays below the 64 KiB limit of Go's scanner. */
export const sharedPageBytesMax = 60 * 1024

export interface Listener {
  /** Receives the changes in the listener's scope up to `to`; the last page has `hasMore: false`. */
  onPages(pages: readonly PageBytes[], to: LogPlace): void
  /** There may be changes in the scope up to `to`; the listener has to read them itself. */
  onMissed(to: LogPlace): void
  /** The log cannot be read; the feed has removed the listener. */
  onFailure(error: unknown): void
}

interface Channel {
  readonly scope: Scope
  readonly listeners: Set<Listener>
}

interface Found {
  /** The place after the changes that were read. */
  readonly place: LogPlace
  readonly isAll: boolean
  /** The changed topics in each channel's scope, by key text. */
  readonly touched: ReadonlyMap<Channel, ReadonlySet<string>>
  /** The channels whose patterns were not matched against all keys. */
  readonly unknown: ReadonlySet<Channel>
  /** By form id, then by key text. */
  readonly results: ReadonlyMap<string, ReadonlyMap<string, Uint8Array>>
}

export class Feed {
  readonly #channels = new Map<string, Channel>()
  /** Channels whose scopes are only ranges, and channels whose scopes also have patterns. */
  readonly #ranged = new RangeIndex<Channel>()
  readonly #patterned = new RangeIndex<Channel>()
  /** Undefined while the log is not followed. */
  #place: LogPlace | undefined
  #starting: Promise<void> | undefined
  #unfollow = (): void => {}
  #isDue = false
  #isAdvancing = false

  constructor(private readonly store: ChangeReader) {}

  /** The position of listeners that have everything; undefined while the log is not followed. */
  get position(): Position | undefined {
    return this.#place && { place: this.#place, walk: undefined }
  }

  /** Adds a listener. It gets all changes from a point before this resolves. @throws StoreError */
  add(scope: Scope, listener: Listener): Awaitable<void> {
    let channel = this.#channels.get(scope.id)
    if (channel === undefined) {
      channel = { scope, listeners: new Set() }
      this.#channels.set(scope.id, channel)
      this.#indexOf(scope).add(scope.ranges, channel)
    }
    channel.listeners.add(listener)
    return this.#place === undefined ? this.#start() : undefined
  }

  remove(scope: Scope, listener: Listener): void {
    const channel = this.#channels.get(scope.id)
    if (channel?.listeners.delete(listener) !== true || channel.listeners.size > 0) return
    this.#channels.delete(scope.id)
    this.#indexOf(scope).remove(channel)
    if (this.#channels.size === 0) this.#stop()
  }

  #start(): Promise<void> {
    this.#starting ??= this.#begin().finally(() => (this.#starting = undefined))
    return this.#starting
  }

  async #begin(): Promise<void> {
    this.#unfollow = this.store.followLog(this.#onGrown)
    try {
      const place = await this.store.inSnapshot((log) => log.end())
      // All listeners may have left in the meantime, and new ones may have joined.
      if (this.#channels.size > 0) this.#place = place
    } finally {
      if (this.#place === undefined) this.#release()
    }
    // Commits after that place may already have been announced.
    this.#onGrown()
  }

  /** Stops following the log. While `#begin` is running, it takes care of this. */
  #stop(): void {
    if (this.#starting === undefined) this.#release()
  }

  #release(): void {
    this.#unfollow()
    this.#unfollow = () => {}
    this.#place = undefined
  }

  readonly #onGrown = (commit?: LoggedCommit): void => {
    if (commit !== undefined && this.#passes(commit)) return
    this.#isDue = true
    if (!this.#isAdvancing) void this.#advance()
  }

  /** Skips a commit that was read already, or is next and matches no listener: this search costs far less than reading the log. */
  #passes({ from, to, keys }: LoggedCommit): boolean {
    if (this.#isAdvancing || this.#place === undefined) return false
    if (this.store.isAfter(this.#place, to)) return true
    if (!this.#place.equals(from)) return false
    let concernsAny = false
    inTurn((slice) =>
      this.#search(keys, slice, () => {
        concernsAny = true
        return false
      }),
    )
    if (concernsAny) return false
    this.#place = to
    return true
  }

  /** @param take gets each channel and matching key, or no key if matching patterns takes too long; returns false to end the search */
  #search(keys: readonly string[], slice: Slice, take: (channel: Channel, key: string | undefined) => boolean): void {
    for (const key of keys) {
      if (!this.#ranged.visit(key, (channel) => !channel.scope.has(key, slice) || take(channel, key))) return
    }
    const deadline = performance.now() + matchingMsMax
    let isLate = false
    for (const [index, key] of keys.entries()) {
      const goesOn = this.#patterned.visit(key, (channel) => {
        isLate ||= performance.now() > deadline
        if (isLate) return take(channel, undefined)
        return !channel.scope.has(key, slice) || take(channel, key)
      })
      if (!goesOn) return
      if (isLate) return this.#leave(keys.slice(index + 1), take)
    }
  }

  /** Passes to `take` each channel whose patterns would have to be matched against at least one of the keys. */
  #leave(keys: readonly string[], take: (channel: Channel, key: undefined) => boolean): void {
    const sorted = keys.toSorted()
    for (const channel of this.#channels.values()) {
      const { plan, ranges } = channel.scope
      if (plan.matcher !== undefined && ranges.some((range) => holdsAny(range, sorted))) take(channel, undefined)
    }
  }

  #indexOf({ plan }: Scope): RangeIndex<Channel> {
    return plan.matcher === undefined ? this.#ranged : this.#patterned
  }

  async #advance(): Promise<void> {
    this.#isAdvancing = true
    try {
      while (this.#isDue && this.#place !== undefined) {
        this.#isDue = false
        await this.#advanceOnce(this.#place)
      }
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#isAdvancing = false
    }
  }

  async #advanceOnce(from: LogPlace): Promise<void> {
    // Listeners take precedence over work that waits for a slice.
    const found = await inTurn(() =>
      this.store.inSnapshot((log) =>
        log.changesAfter<Found | 'gone'>(from, keysAtOnceMax, (changes, slice) =>
          changes === 'gone' ? changes : this.#readTouched(log, changes, slice),
        ),
      ),
    )
    if (this.#place !== from) return
    if (found === 'gone') {
      const end = await this.store.inSnapshot((log) => log.end())
      // All listeners may have left.
      if (this.#place !== from) return
      this.#place = end
      for (const channel of this.#channels.values()) for (const listener of channel.listeners) listener.onMissed(end)
      return
    }
    if (found.touched.size + found.unknown.size > 0) await give(found, from)
    if (this.#place === from) this.#place = found.place
    if (!found.isAll) this.#isDue = true
  }

  #readTouched(log: LogSnapshot, { keys, isAll, placeAt }: LoggedChanges, slice: Slice): Awaitable<Found> {
    const touched = new Map<Channel, Set<string>>()
    const unknown = new Set<Channel>()
    this.#search(keys, slice, (channel, key) => {
      const known = touched.get(channel)
      if (key === undefined) unknown.add(channel)
      else if (known === undefined) touched.set(channel, new Set([key]))
      else known.add(key)
      return true
    })
    for (const channel of unknown) touched.delete(channel)
    const results = new Map<string, Map<string, Uint8Array>>()
    const found = { place: placeAt(keys.length), isAll, touched, unknown, results }
    if (!isAll) return found
    const wanted = new Map<string, { readonly form: ItemForm; readonly keys: Set<string> }>()
    for (const [{ scope }, keys] of touched) {
      const ofForm = wanted.get(scope.formId) ?? { form: scope.form, keys: new Set() }
      for (const key of keys) ofForm.keys.add(key)
      wanted.set(scope.formId, ofForm)
    }
    let read: Awaitable<unknown>
    for (const [formId, { form, keys }] of wanted) {
      read = whenKnown(read, () => whenKnown(readForm(log, form, [...keys]), (all) => results.set(formId, all)))
    }
    return whenKnown(read, () => found)
  }

  /** Removes every listener and reports the failure to it; a listener may join again. */
  #fail(error: unknown): void {
    const channels = [...this.#channels.values()]
    this.#stop()
    for (const { scope, listeners } of channels) {
      for (const listener of [...listeners]) {
        this.remove(scope, listener)
        listener.onFailure(error)
      }
    }
  }
}

function holdsAny({ start, end }: Scope['ranges'][number], sorted: readonly string[]): boolean {
  let low = 0
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >> 1
    if ((sorted[middle] as string) < start) low = middle + 1
    else high = middle
  }
  const first = sorted[low]
  return first !== undefined && first < end
}

/** Gives all listeners their pages: some immediately, the rest in slices, so that other requests get their turns. */
async function give(found: Found, from: LogPlace): Promise<void> {
  const deliveries = deliver(found, from)
  const giveSome = (slice: Slice): boolean => {
    while (deliveries.next().done !== true) if (slice.isOver()) return false
    return true
  }
  for (let areGiven = inTurn(giveSome); !areGiven; ) areGiven = giveSome(await waitForSlice())
}

/** Each step gives one listener its pages. */
function* deliver({ place, isAll, touched, unknown, results }: Found, from: LogPlace): Generator<void, void> {
  const frames = {
    more: frameOf({ hasMore: true, next: { place: from, walk: undefined } }),
    last: frameOf({ hasMore: false, next: { place, walk: undefined } }),
  }
  const all = [...touched, ...[...unknown].map((channel) => [channel, undefined] as const)]
  for (const [{ scope, listeners }, keys] of all) {
    const pages = isAll && keys !== undefined ? pagesOf(scope, keys, results, frames) : undefined
    for (const listener of listeners) {
      if (pages === undefined) listener.onMissed(place)
      else listener.onPages(pages, place)
      yield
    }
  }
}

/** The results for topics in a form, by key text: as many as fit into `itemsBytesMax`. */
function readForm(log: LogSnapshot, form: ItemForm, keys: readonly string[]): Awaitable<Map<string, Uint8Array>> {
  const read = new Map<string, Uint8Array>()
  let bytes = 0
  const take = (item: Uint8Array | undefined): boolean => {
    const key = keys[read.size] as string
    const result = resultOf(pathOfKeyText(key), item)
    read.set(key, result)
    bytes += result.length
    return bytes < itemsBytesMax && read.size < keys.length
  }
  return whenKnown(log.readItems(keys.map(pathOfKeyText), form, itemsBytesMax, take), () => read)
}

/**
 * Undefined if some topics were not read. Only the last page leads to a consistent state; all other pages contain the
 * position before the first page, so that a client resumes there.
 */
function pagesOf(
  scope: Scope,
  keys: ReadonlySet<string>,
  results: Found['results'],
  frames: Readonly<Record<'more' | 'last', Frame>>,
): readonly PageBytes[] | undefined {
  const read = results.get(scope.formId)
  const pages: PageBytes[] = []
  let part: Uint8Array[] = []
  let bytes = 0
  for (const key of keys) {
    const result = read?.get(key)
    if (result === undefined) return undefined
    if (part.length > 0 && (part.length === scope.size || bytes + result.length > sharedPageBytesMax)) {
      pages.push(framed(part, frames.more))
      part = []
      bytes = 0
    }
    part.push(result)
    bytes += result.length + 1
  }
  pages.push(framed(part, frames.last))
  return pages
}
