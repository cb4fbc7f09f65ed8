/**
 * The names below a path, for all levels that were opened, kept up to date by one stream without values. Opening a level lists
 * it; each change then updates the levels above the topic. If a removal may have emptied a branch, a request checks the branch.
 * During an outage the tree keeps the last state; afterwards it catches up.
 */
import { type Child, childrenIn, compareNames, nameOf, parentOf } from '../child.js'
import { TopicdError } from '../error.js'
import type { Page } from '../item.js'
import { everything, segmentsOf, subtree } from '../selectors.js'
import { wait } from '../wait.js'
import type { ListOptions, PageOptions } from '../wire.js'
import type { Result } from './attempt.js'
import type { Changes, ChangesOptions } from './changes.js'
import { type ConnectionEvents, relay, TypedTarget } from './events.js'
import type { TopicChange } from './live-topics.js'

/** Default number of children listed at a time. */
const sizeDefault = 100

/** A level may grow to this multiple of its listed children; then its last half is dropped, because a branch may grow for years. */
const growthMax = 4

/** The wait before branches are checked for emptiness, in ms: an expiry may remove thousands of topics in a row. */
const questionMs = 500

interface TreeEvents extends ConnectionEvents {
  readonly change: Event
  readonly topic: CustomEvent<TopicChange>
  readonly error: CustomEvent<unknown>
}

/** The client's methods that a tree needs. */
interface Source {
  list(path: string, options: ListOptions): AsyncIterable<Child>
  page(selector: string, options: PageOptions): Promise<Page>
  changes(selector: string, options: ChangesOptions): Changes
}

interface Level {
  /** The children by path; undefined until they are listed. */
  children: Map<string, Child> | undefined
  /** The children in tree order; undefined until they are requested. */
  sorted: readonly Child[] | undefined
  /** The last listed child; undefined once all children are listed. */
  listedTo: string | undefined
  /** If there are more children, the last are dropped. */
  childrenMax: number
  /** The current request for children, one at a time. */
  listing: Promise<void> | undefined
  /** Resolves once the level is listed again, or the service has rejected the request. */
  relisting: Promise<void> | undefined
}

export interface TreeOptions {
  /** Number of children listed at a time; 100 by default. */
  readonly size?: number | undefined
  /** Stops following when aborted. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The names below a path, from `Client.followTree`. Events:
 *
 *     change         the children of an open path changed, or were listed again
 *     topic          a CustomEvent<TopicChange>: a topic at or below the path changed; its item has no value
 *     connected      the first data has arrived, initially or after an outage
 *     disconnected   a CustomEvent<Disconnection>: an outage has started; the client retries until it succeeds
 *     error          a CustomEvent<unknown>: following ended for this reason; the names no longer change
 */
export class LiveTree extends TypedTarget<TreeEvents> {
  /** Resolves once the first children are listed; rejects if the first attempt fails. */
  readonly ready: Promise<void>
  readonly #levels = new Map<string, Level>()
  /** Paths of branches that may be empty. */
  readonly #doubtful = new Set<string>()
  #isAsking = false
  /** The changes after the start of each request in flight, because its response might not include them. */
  readonly #recent = new Set<Result[]>()
  /** The followed path as the service writes it; empty for all topics. */
  readonly path: string

  /** @param path empty for all topics @throws RangeError for a path with an empty segment */
  constructor(
    private readonly client: Source,
    path: string,
    private readonly controller: AbortController,
    private readonly size = sizeDefault,
  ) {
    super()
    this.path = plain(path)
    this.ready = this.open(path)
    // The `error` event also reports a permanent failure.
    this.ready.catch(() => {})
    void this.#follow()
  }

  /** The listed children of a path in tree order; undefined unless the path is open and listed. */
  children(path: string): readonly Child[] | undefined {
    const level = this.#levels.get(plain(path))
    if (level?.children === undefined) return undefined
    level.sorted ??= inOrder(level)
    return level.sorted
  }

  /** The last listed child if there may be more children, which `more` lists; otherwise undefined. */
  listedTo(path: string): string | undefined {
    return this.#levels.get(plain(path))?.listedTo
  }

  /** The open paths, in the order in which they were opened. */
  get opened(): readonly string[] {
    return [...this.#levels.keys()]
  }

  /**
   * Lists the first children of a path and keeps them up to date.
   *
   * @throws the client's errors; unless the service rejected the request, it is retried while the path is open
   */
  async open(given: string): Promise<void> {
    const path = plain(given)
    const known = this.#levels.get(path)
    if (known !== undefined) return known.listing ?? known.relisting
    const level: Level = {
      children: undefined,
      sorted: undefined,
      listedTo: undefined,
      childrenMax: 0,
      listing: undefined,
      relisting: undefined,
    }
    this.#levels.set(path, level)
    try {
      await this.#list(path, level, undefined)
    } catch (error) {
      this.#relist(path, level, error)
      throw error
    }
  }

  /** Lists the next children of an open path. @throws the client's errors */
  async more(given: string): Promise<void> {
    const path = plain(given)
    const level = this.#levels.get(path)
    // The request in flight does not list the next children.
    if (level?.relisting !== undefined) await level.listing?.catch(() => {})
    if (level?.listedTo !== undefined) await this.#list(path, level, level.listedTo)
  }

  /** Adds one child of an open path, even if it lies beyond the listed children. @throws the client's errors */
  async include(given: string): Promise<void> {
    const path = plain(given)
    const level = this.#levels.get(parentOf(path))
    if (level !== undefined && level.children?.has(path) !== true) await this.#check(path)
  }

  /** Closes a path and all open paths below it, and forgets their children. */
  collapse(given: string): void {
    const path = plain(given)
    for (const open of this.#levels.keys())
      if (path === '' || open === path || open.startsWith(`${path}/`)) this.#levels.delete(open)
    this.#changed()
  }

  /** Stops following; the names keep their last state. */
  close(): void {
    this.controller.abort()
  }

  /** @param after a listed child; undefined to list the same number of children again */
  #list(path: string, level: Level, after: string | undefined): Promise<void> {
    level.listing ??= this.#ask(() => this.#listNext(path, level, after)).finally(() => {
      level.listing = undefined
      this.#changed()
    })
    return level.listing
  }

  async #listNext(path: string, level: Level, after: string | undefined): Promise<void> {
    const children = new Map(after === undefined ? [] : level.children)
    const countMax = Math.max(this.size, after === undefined ? (level.children?.size ?? 0) : 0)
    let [count, last] = [0, after]
    let listedTo: string | undefined
    // Two results per branch, plus one that shows that there are more children.
    const listed = this.client.list(path, { after, size: 2 * this.size + 1, signal: this.controller.signal })
    for await (const child of listed) {
      if (count++ === countMax) {
        listedTo = last
        break
      }
      last = child.path
      children.set(child.path, child)
    }
    for (const [known, child] of level.children ?? [])
      if (!children.has(known) && isBeyond(known, listedTo)) {
        // Added by `include`.
        children.set(known, child)
        this.#doubt(known)
      }
    const childrenMax = growthMax * Math.max(this.size, children.size)
    Object.assign(level, { children, listedTo, sorted: undefined, childrenMax })
  }

  #relist(path: string, level: Level, error?: unknown): void {
    level.relisting = this.#listAnew(path, level, error).finally(() => (level.relisting = undefined))
  }

  /** Retries until it succeeds or the service rejects the request. @param error the error of the previous attempt */
  async #listAnew(path: string, level: Level, error?: unknown): Promise<void> {
    let failure = error
    while (this.#levels.get(path) === level && !this.controller.signal.aborted) {
      const isRefused = failure instanceof TopicdError && failure.status < 429
      if (isRefused) return void this.#levels.delete(path)
      const retrySeconds = failure instanceof TopicdError ? (failure.retryAfterSeconds ?? 0) : 0
      if (failure !== undefined)
        await wait(Math.max(questionMs, retrySeconds * 1000), this.controller.signal).catch(() => {})
      // A request in flight may return an earlier state, or only the next children.
      while (level.listing !== undefined) await level.listing.catch(() => {})
      failure = await this.#list(path, level, undefined).then(
        () => undefined,
        (error: unknown) => error,
      )
      if (failure === undefined) return
    }
  }

  /** After a request, reapplies the changes that arrived during it, because its response may show an earlier state. */
  async #ask(question: () => Promise<void>): Promise<void> {
    const recent: Result[] = []
    this.#recent.add(recent)
    try {
      await question()
    } finally {
      this.#recent.delete(recent)
      for (const change of recent) this.#apply(change)
    }
  }

  async #follow(): Promise<void> {
    const changes = this.client.changes(this.path === '' ? everything : subtree(this.path), {
      since: 'now',
      type: 'any',
      with_values: false,
      with_version: true,
      signal: this.controller.signal,
    })
    relay(changes, this)
    try {
      for (;;) {
        await this.#followOnce(changes)
        changes.next = 'now'
      }
    } catch (error) {
      if (!this.controller.signal.aborted) this.dispatchEvent(new CustomEvent('error', { detail: error }))
      this.controller.abort()
    }
  }

  /** If changes were missed, returns instead of receiving the current state of every topic. */
  async #followOnce(changes: Changes): Promise<void> {
    let hasBegun = false
    for await (const change of changes) {
      if (change.kind === 'restarted') return
      if (change.kind !== 'complete') this.#take(change)
      else if (!hasBegun) {
        hasBegun = true
        // Open levels may have changed after they were listed; they stay visible until they are listed again.
        for (const [path, level] of this.#levels) this.#relist(path, level)
      }
    }
  }

  #take(change: Result): void {
    for (const recent of this.#recent) recent.push(change)
    this.#apply(change)
    const item = change.kind === 'topic' ? change.item : undefined
    this.dispatchEvent(new CustomEvent<TopicChange>('topic', { detail: { path: change.path, item } }))
  }

  #apply(change: Result): void {
    const { path } = change
    const type = change.kind === 'topic' ? change.item.type : undefined
    let hasChanged = false
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
      const child = path.slice(0, end)
      const level = this.#levels.get(parentOf(child))
      const known = level?.children?.get(child)
      if (level?.children === undefined) continue
      if (type !== undefined) hasChanged = this.#add(level, child, child === path ? type : undefined) || hasChanged
      else if (known === undefined) continue
      else if (child !== path) this.#doubt(child)
      else {
        put(level, child, known.hasChildren ? { ...known, type: undefined } : undefined)
        if (!known.hasChildren) this.#levels.delete(child)
        hasChanged = true
      }
    }
    if (hasChanged) this.#changed()
  }

  /** @param type the type of the topic at the path; undefined for a topic below it @returns true if the level changed */
  #add(level: Level, path: string, type: Child['type']): boolean {
    const known = level.children?.get(path)
    const name = nameOf(path)
    if (
      known === undefined
        ? isBeyond(path, level.listedTo)
        : type === undefined
          ? known.hasChildren
          : known.type === type
    )
      return false
    put(level, path, merged(known, { path, name, type, hasChildren: type === undefined }))
    if ((level.children?.size ?? 0) > level.childrenMax) forgetLast(level)
    return true
  }

  #doubt(path: string): void {
    this.#doubtful.add(path)
    if (!this.#isAsking) void this.#settle()
  }

  async #settle(): Promise<void> {
    const { signal } = this.controller
    this.#isAsking = true
    while (this.#doubtful.size > 0 && !signal.aborted) {
      await wait(questionMs, signal).catch(() => {})
      const paths = [...this.#doubtful]
      this.#doubtful.clear()
      // A check is repeated until it succeeds or the tree is closed.
      for (const path of paths) await this.#check(path).catch(() => this.#doubtful.add(path))
    }
    this.#isAsking = false
  }

  async #check(path: string): Promise<void> {
    const options = { type: 'any', with_values: false, size: 2, signal: this.controller.signal } as const
    await this.#ask(async () => {
      const { results } = await this.client.page(subtree(path), options)
      const level = this.#levels.get(parentOf(path))
      const { value: child } = await childrenIn(results, segmentsOf(path).length).next()
      if (level !== undefined) put(level, path, child ?? undefined)
      if (child?.hasChildren !== true) this.collapse(path)
    })
    this.#changed()
  }

  #changed(): void {
    this.dispatchEvent(new Event('change'))
  }
}

/** The path as the service writes it; the empty path is unchanged. @throws RangeError for an empty segment */
function plain(path: string): string {
  return path === '' ? '' : segmentsOf(path).join('/')
}

function isBeyond(path: string, listedTo: string | undefined): boolean {
  return listedTo !== undefined && compareNames(nameOf(path), nameOf(listedTo)) > 0
}

function inOrder({ children }: Level): readonly Child[] {
  return [...(children?.values() ?? [])].sort((a, b) => compareNames(a.name, b.name))
}

function forgetLast(level: Level): void {
  const kept = inOrder(level).slice(0, level.childrenMax / 2)
  level.children = new Map(kept.map((child) => [child.path, child]))
  level.listedTo = kept.at(-1)?.path
}

/** @param child undefined to remove the child at the path */
function put(level: Level, path: string, child: Child | undefined): void {
  if (child === undefined) level.children?.delete(path)
  else level.children?.set(path, child)
  level.sorted = undefined
}

/** Keeps the known type if `child` has none, and the fact that there are children. */
function merged(known: Child | undefined, child: Child): Child {
  return { ...child, type: child.type ?? known?.type, hasChildren: child.hasChildren || known?.hasChildren === true }
}
