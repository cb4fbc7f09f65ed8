/**
 * Reading pages of changes for one client: first a walk of the present state in tree order, then the log, from the place
 * that was taken before the walk. What changed during the walk is shown again, so nothing is missed, and nobody has to
 * hold a snapshot.
 *
 * A page of the log has each topic once, as it is when the page is read. The last page, with `hasMore: false`, reads the
 * end of the log and its topics in one snapshot. Every topic that was shown before and has changed since is among them,
 * so then the client has the state of that moment.
 */
import { type Awaitable, whenKnown } from '../base/awaitable.js'
import { JsonReader } from '../json/reader.js'
import { type Cancellation, Cancelled } from '../store/cancellation.js'
import type { ChangeReader, LoggedChanges, LogPlace, LogSnapshot } from '../store/changes.js'
import { sliceMs, waitForSlice } from '../store/shared/time-slices.js'
import type { Page, TopicReader } from '../store/topics.js'
import { pathOfKeyText } from '../topics/key.js'
import type { Path } from '../topics/path.js'
import { type ChangesPage, resultOf } from './page.js'
import type { Scope } from './scope.js'
import type { Position, Since } from './token.js'

/** Changes that are read of the log at once: they take about a slice. */
const keysInSliceMax = 2000

/**
 * How long the log may be read for one page, in ms. After that the page ends, perhaps with nothing on it: a client that is far
 * behind gets on even if it has to ask again, and hears of it in time.
 */
export const pageMsMax = 5000

/** Keys that are compared between two readings of the clock. */
const keysPerClockRead = 16

export type ChangesStore = ChangeReader & Pick<TopicReader, 'readPage'>

/** A page is read up to these bounds: `scope.size`, and these bytes, but it has one result at least. */
interface Bounds {
  readonly bytesMax: number
  readonly cancellation: Cancellation
}

/**
 * The page after a position, or the first one; since now, that is an empty one.
 *
 * @returns `gone` if the log does not have what changed since
 * @throws Cancelled; StoreError
 */
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
      : whenKnown(readWalk(store, scope, walk.after, bounds), (page) => walkPage(scope, place, page))
  }
  return whenKnown(readEnd(store), (place) =>
    whenKnown(readWalk(store, scope, undefined, bounds), (page) => {
      const first = walkPage(scope, place, page)
      return first.next.walk === undefined ? completed(store, scope, first, bounds) : first
    }),
  )
}

/** The present end of the log. @throws StoreError */
export function readNow(store: ChangeReader): Awaitable<Position> {
  return whenKnown(readEnd(store), (place) => ({ place, walk: undefined }))
}

function readEnd(store: ChangeReader): Awaitable<LogPlace> {
  return store.inSnapshot((log) => log.end())
}

/** A copy of the bytes of a page of the present state: they are valid for a moment only. */
interface WalkedPage {
  readonly items: Buffer
  readonly hasMore: boolean
}

function readWalk(
  store: ChangesStore,
  { plan, form, size }: Scope,
  after: Path | undefined,
  { bytesMax, cancellation }: Bounds,
): Awaitable<WalkedPage> {
  const query = { plan, form, branches: undefined, after, size, bytesMax }
  return whenKnown(store.readPage(query, cancellation), ({ buffer, start, end, hasMore }: Page) => ({
    items: Buffer.from(buffer.subarray(start, end)),
    hasMore,
  }))
}

function walkPage({ walkId }: Scope, place: LogPlace, { items, hasMore }: WalkedPage): ChangesPage {
  const results = items.length === 0 ? [] : [items]
  const walk = hasMore ? { id: walkId, after: lastPathOf(items) } : undefined
  return { results, hasMore: true, next: { place, walk } }
}

/** A present state of a single page: complete, unless it changed while it was read. */
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

/** The path of the last of these items, which have commas between them. */
function lastPathOf(items: Buffer): Path {
  const reader = new JsonReader(Buffer.concat([Buffer.from('['), items, Buffer.from(']')]), Infinity)
  let last: Buffer | undefined
  for (let isIn = reader.enterArray(); isIn; isIn = reader.nextElement()) {
    const start = reader.position
    reader.skip()
    last = reader.readSince(start)
  }
  const item = new JsonReader(last ?? Buffer.alloc(0), Infinity)
  // Every item begins with its path.
  item.enterObject()
  return item.value() as Path
}

function readLog(store: ChangesStore, scope: Scope, place: LogPlace, bounds: Bounds): Awaitable<ChangesPage | 'gone'> {
  const page = new LogPage(scope, place, bounds.bytesMax)
  return whenKnown(store.inSnapshot(page.step), (first) =>
    first === undefined ? inSlices(store, page, bounds) : first,
  )
}

async function inSlices(store: ChangesStore, page: LogPage, { cancellation }: Bounds): Promise<ChangesPage | 'gone'> {
  const deadline = performance.now() + pageMsMax
  for (;;) {
    await waitForSlice(cancellation)
    const done = await store.inSnapshot(performance.now() > deadline ? page.part : page.step)
    if (done !== undefined) return done
    if (cancellation.aborted) throw new Cancelled()
  }
}

/** A page of the log, which is read in steps, each in a snapshot of its own; the topics in the last of them. */
class LogPage {
  /**
   * The topics in the order of their first changes, by the texts of their keys, each with the place before that change. Only
   * the places are kept: what was read of the log may be most of it.
   */
  readonly #found = new Map<string, LogPlace>()

  constructor(
    private readonly scope: Scope,
    private place: LogPlace,
    private readonly bytesMax: number,
  ) {}

  /** Reads on; resolves to the page once it is complete, and to undefined before that. */
  readonly step = (log: LogSnapshot): Awaitable<ChangesPage | 'gone' | undefined> =>
    whenKnown(log.changesAfter(this.place, keysInSliceMax), (changes) => {
      if (changes === 'gone') return 'gone'
      const reached = this.#search(changes)
      this.place = changes.placeAt(reached)
      const isFull = this.#found.size === this.scope.size
      const isEnd = changes.isAll && reached === changes.keys.length
      return isFull || isEnd ? this.#read(log, !isEnd) : undefined
    })

  /** What was found so far, as a page that has more. */
  readonly part = (log: LogSnapshot): Awaitable<ChangesPage> => this.#read(log, true)

  /** Searches for topics of the scope. @returns the index of the first change that is left for later */
  #search(changes: LoggedChanges): number {
    const { keys } = changes
    const found = this.#found
    const deadline = performance.now() + sliceMs
    for (const [index, key] of keys.entries()) {
      if (index % keysPerClockRead === keysPerClockRead - 1 && performance.now() > deadline) return index
      if (found.has(key) || !this.scope.has(key)) continue
      if (found.size === this.scope.size) return index
      found.set(key, changes.placeAt(index))
    }
    return keys.length
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
