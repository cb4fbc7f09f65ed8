/**
 * Reading pages of changes for one client: first a walk of the present state in tree order, then the log. The log is read from the place
 * recorded before the walk. Changes made during the walk are shown again, so no change is missed and no snapshot
 * has to be kept open.
 *
 * A page of the log shows each topic once, as it is when the page is read. For the last page, with `hasMore: false`,
 * the end of the log and the page's topics are read in one snapshot. These topics include every topic that was shown earlier
 * and has changed in the meantime, so the client has the state as of that snapshot.
 */
import { type Awaitable, whenKnown } from '../base/awaitable.js'
import { type Cancellation, Cancelled } from '../base/cancellation.js'
import { type Slice, waitForSlice } from '../base/time-slices.js'
import type { ChangeReader, LoggedChanges, LogPlace, LogSnapshot } from '../store/changes.js'
import type { Page, TopicReader } from '../store/topics.js'
import { pathOfItem } from '../topics/item.js'
import { pathOfKeyText } from '../topics/key.js'
import type { Path } from '../topics/path.js'
import { type ChangesPage, resultOf } from './page.js'
import type { Scope } from './scope.js'
import type { Position, Since } from './token.js'

/** Maximum changes read from the log per step: searching them takes about a slice. */
const keysInSliceMax = 2000

/** Minimum changes per step for a pattern that needs more than a slice: thousands of requests may each keep this many keys. */
const patternKeysMin = 32

/** Time limit for reading the log, in ms. The page then ends, possibly empty, so that a client far behind makes progress. */
export const pageMsMax = 5000

export type ChangesStore = ChangeReader & Pick<TopicReader, 'readPage'>

/** The limits of a page, in addition to `scope.size`. A page always has room for one result. */
interface Bounds {
  readonly bytesMax: number
  readonly cancellation: Cancellation
}

/** For `now`, the page is empty. @returns `gone` if the log no longer has the changes @throws Cancelled; StoreError */
export function readPageAfter(
  store: ChangesStore,
  scope: Scope,
  since: Since,
  bounds: Bounds,
): Awaitable<ChangesPage | 'gone'> {
  if (since === 'now') return whenKnown(readNow(store), (next) => ({ results: [], hasMore: false, next }))
  if (since !== undefined) {
    const { place, walk } = since
    return walk === undefined
      ? readLog(store, scope, place, bounds)
      : readWalk(store, scope, { place, after: walk.after }, bounds)
  }
  return whenKnown(readEnd(store), (place) =>
    whenKnown(readWalk(store, scope, { place, after: undefined }, bounds), (first) =>
      first.next.walk === undefined ? completed(store, scope, first, bounds) : first,
    ),
  )
}

/** The current end of the log. @throws StoreError */
export function readNow(store: ChangeReader): Awaitable<Position> {
  return whenKnown(readEnd(store), (place) => ({ place, walk: undefined }))
}

function readEnd(store: ChangeReader): Awaitable<LogPlace> {
  return store.inSnapshot((log) => log.end())
}

/** A page of the present state. It continues after the path `after`; `place` is the place in the log from before the walk. */
function readWalk(
  store: ChangesStore,
  { plan, form, size, walkId }: Scope,
  { place, after }: { readonly place: LogPlace; readonly after: Path | undefined },
  { bytesMax, cancellation }: Bounds,
): Awaitable<ChangesPage> {
  const query = { plan, form, branches: undefined, after, size, bytesMax }
  return whenKnown(store.readPage(query, cancellation), ({ buffer, start, lastStart, end, hasMore }: Page) => {
    // A copy: the buffer is valid only until the next store call.
    const items = Buffer.from(buffer.subarray(start, end))
    const walk = hasMore ? { id: walkId, after: pathOfItem(buffer.subarray(lastStart, end)) } : undefined
    return { results: items.length === 0 ? [] : [items], hasMore: true, next: { place, walk } }
  })
}

/** For a present state that fits on one page: the complete page, unless the state changed while it was read. */
function completed(
  store: ChangesStore,
  scope: Scope,
  first: ChangesPage,
  bounds: Bounds,
): Awaitable<ChangesPage | 'gone'> {
  return whenKnown(readLog(store, scope, first.next.place, bounds), (since) =>
    since !== 'gone' && since.results.length === 0 && !since.hasMore ? { ...since, results: first.results } : first,
  )
}

function readLog(store: ChangesStore, scope: Scope, place: LogPlace, bounds: Bounds): Awaitable<ChangesPage | 'gone'> {
  const page = new LogPage(scope, place, bounds.bytesMax)
  return whenKnown(store.inSnapshot(page.step), (first) =>
    first === undefined ? inSlices(store, page, bounds) : first,
  )
}

async function inSlices(store: ChangesStore, page: LogPage, { cancellation }: Bounds): Promise<ChangesPage | 'gone'> {
  const deadline = performance.now() + pageMsMax
  const isLate = (): boolean => performance.now() > deadline
  for (;;) {
    while (page.isSearching && !isLate()) page.search(await waitForSlice(cancellation))
    if (cancellation.aborted) throw new Cancelled()
    const done = await store.inSnapshot(isLate() ? page.part : page.step)
    if (done !== undefined) return done
  }
}

/** A page of the log, read in steps, each with its own snapshot; none stays open while a search waits. The last step reads topics. */
class LogPage {
  /** The place before each topic's first change, by key text, in order. Other changes, possibly most of the log, are not kept. */
  readonly #found = new Map<string, LogPlace>()
  /** The changes read last, until they have been searched. */
  #changes: LoggedChanges | undefined
  #searched = 0
  #keysMax: number

  constructor(
    private readonly scope: Scope,
    private place: LogPlace,
    private readonly bytesMax: number,
  ) {
    this.#keysMax = this.#isPattern ? patternKeysMin : keysInSliceMax
  }

  /** True if keys remain to be searched before the next step. */
  get isSearching(): boolean {
    return this.#changes !== undefined && !this.#isFull
  }

  get #isFull(): boolean {
    return this.#found.size === this.scope.size
  }

  /** Comparing all keys of a step with ranges takes at most a slice; a pattern may need many slices for one step. */
  get #isPattern(): boolean {
    return this.scope.plan.matcher !== undefined
  }

  /** Reads the next changes; resolves to the page once it is complete, otherwise to undefined. */
  readonly step = (log: LogSnapshot): Awaitable<ChangesPage | 'gone' | undefined> => {
    if (this.#isFull) return this.#read(log, true)
    return log.changesAfter<ChangesPage | 'gone' | undefined>(this.place, this.#keysMax, (changes, slice) => {
      if (changes === 'gone') return 'gone'
      this.#changes = changes
      this.#searched = 0
      this.search(slice)
      if (this.isSearching) this.#keysMax = Math.max(Math.ceil(this.#keysMax / 2), patternKeysMin)
      else if (!this.#isFull) this.#keysMax = Math.min(this.#keysMax * 2, keysInSliceMax)
      const isEnd = changes.isAll && this.#changes === undefined
      return this.#isFull || isEnd ? this.#read(log, !isEnd) : undefined
    })
  }

  /** The results so far, as a page with `hasMore: true`. */
  readonly part = (log: LogSnapshot): Awaitable<ChangesPage> => this.#read(log, true)

  /** Continues the search for topics in the scope until the slice is over, the page is full, or no keys are left. */
  search(slice: Slice): void {
    const { scope } = this
    const found = this.#found
    const changes = this.#changes
    if (changes === undefined) return
    const { keys } = changes
    let at = this.#searched
    for (; at < keys.length; at++) {
      if (at > this.#searched && this.#isPattern && slice.isOver()) break
      const key = keys[at] as string
      if (found.has(key) || !scope.has(key, slice)) continue
      if (this.#isFull) break
      found.set(key, changes.placeAt(at))
    }
    this.#searched = at
    this.place = changes.placeAt(at)
    if (at === keys.length) this.#changes = undefined
  }

  #read(log: LogSnapshot, hasMore: boolean): Awaitable<ChangesPage> {
    const found = [...this.#found]
    const results: Uint8Array[] = []
    let bytes = 0
    const paths = found.map(([key]) => pathOfKeyText(key))
    const take = (item: Uint8Array | undefined): boolean => {
      const result = resultOf(paths[results.length] as Path, item)
      bytes += result.length + 1
      if (results.length > 0 && bytes > this.bytesMax) return false
      results.push(result)
      return true
    }
    return whenKnown(log.readItems(paths, this.scope.form, this.bytesMax, take), () => {
      const [, rest] = found[results.length] ?? []
      return { results, hasMore: hasMore || rest !== undefined, next: { place: rest ?? this.place, walk: undefined } }
    })
  }
}
