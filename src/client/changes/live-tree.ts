/**
 * The names below a path, as far as they were opened, kept up to date by one stream without values. A level is listed when it
 * is opened; each change then says what it does to the levels above it. Only if a removal may have emptied a branch, the service
 * is asked. During an outage it keeps the last state, then catches up.
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

/** Children that are listed at a time unless the caller says otherwise. */
const sizeDefault = 100

/** At so many times what was listed, the last half is forgotten: a branch may get new children for years. */
const growthMax = 4

/** Before it is asked whether branches are empty, in ms: an expiry removes thousands of topics, one after the other. */
const questionMs = 500

interface TreeEvents extends ConnectionEvents {
  readonly change: Event
  readonly topic: CustomEvent<TopicChange>
  readonly error: CustomEvent<unknown>
}

/** The methods of the client that a tree needs. */
interface Source {
  list(path: string, options: ListOptions): AsyncIterable<Child>
  page(selector: string, options: PageOptions): Promise<Page>
  changes(selector: string, options: ChangesOptions): Changes
}

interface Level {
  /** Undefined until they are listed. */
  children: Map<string, Child> | undefined
  /** The same in tree order; undefined until someone asks. */
  sorted: readonly Child[] | undefined
  /** Later children are not listed yet; undefined once all are. */
  listedTo: string | undefined
  /** With more of them, the last are forgotten. */
  childrenMax: number
  /** Of its next children; one at a time. */
  listing: Promise<void> | undefined
  /** Until it is listed after a failure, or would be refused again. */
  relisting: Promise<void> | undefined
}

export interface TreeOptions {
  /** Children listed at a time, 100 by default. */
  readonly size?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Made by `Client.followTree`. Its events:
 *
 *     change         the children of an open path are others than before
 *     topic          a CustomEvent<TopicChange> for each topic below the path that has changed; its item has no value
 *     connected      the first piece of an answer has arrived: at the start, and after each outage
 *     disconnected   a CustomEvent<Disconnection>, once for each outage: it tries again until it is connected
 *     error          a CustomEvent<unknown>: it has ended, for this reason, and the names stay as they are
 */
export class LiveTree extends TypedTarget<TreeEvents> {
  /** Resolves once the first children are listed; rejects if the first attempt fails. */
  readonly ready: Promise<void>
  readonly #levels = new Map<string, Level>()
  /** Branches that may be empty. */
  readonly #doubtful = new Set<string>()
  #isAsking = false
  /** The changes since each request that is under way was sent: its answer may not show them. */
  readonly #recent = new Set<Result[]>()
  /** As the service writes it. */
  readonly path: string

  /** @param path the empty path for all topics @throws RangeError for a path with an empty segment */
  constructor(
    private readonly client: Source,
    path: string,
    private readonly controller: AbortController,
    private readonly size = sizeDefault,
  ) {
    super()
    this.path = plain(path)
    this.ready = this.open(path)
    // The `error` event also reports it.
    this.ready.catch(() => {})
    void this.#follow()
  }

  /** In tree order; undefined until the path is open and its children are listed. */
  children(path: string): readonly Child[] | undefined {
    const level = this.#levels.get(plain(path))
    if (level?.children === undefined) return undefined
    level.sorted ??= inOrder(level)
    return level.sorted
  }

  /** The last of the listed children if there may be more; `more` lists them. */
  listedTo(path: string): string | undefined {
    return this.#levels.get(plain(path))?.listedTo
  }

  /** In the order in which they were opened. */
  get opened(): readonly string[] {
    return [...this.#levels.keys()]
  }

  /**
   * Lists the first children of a path, and keeps them up to date.
   *
   * @throws what the client throws; unless that is a refusal, it is tried again for as long as the path is open
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

  /** Lists the next children. @throws what the client throws */
  async more(given: string): Promise<void> {
    const path = plain(given)
    const level = this.#levels.get(path)
    if (level?.listedTo !== undefined) await this.#list(path, level, level.listedTo)
  }

  /** Lists a child that may come after those that are listed. @throws what the client throws */
  async include(given: string): Promise<void> {
    const path = plain(given)
    const level = this.#levels.get(parentOf(path))
    if (level !== undefined && level.children?.has(path) !== true) await this.#check(path)
  }

  /** Forgets the children of a path, and all that is open below it. */
  collapse(given: string): void {
    const path = plain(given)
    for (const open of this.#levels.keys())
      if (path === '' || open === path || open.startsWith(`${path}/`)) this.#levels.delete(open)
    this.#changed()
  }

  /** Ends following. */
  close(): void {
    this.controller.abort()
  }

  /** @param after a listed child; undefined to list anew, as many as before */
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
    // Two results for each branch, and one more that tells that there are more.
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
        // It was included.
        children.set(known, child)
        this.#doubt(known)
      }
    const childrenMax = growthMax * Math.max(this.size, children.size)
    Object.assign(level, { children, listedTo, sorted: undefined, childrenMax })
  }

  #relist(path: string, level: Level, error?: unknown): void {
    level.relisting = this.#listAnew(path, level, error).finally(() => (level.relisting = undefined))
  }

  /** Tries until it succeeds, or would be refused again. @param error of an attempt before */
  async #listAnew(path: string, level: Level, error?: unknown): Promise<void> {
    let failure = error
    // One that is under way may be of before.
    await level.listing?.catch(() => {})
    while (this.#levels.get(path) === level && !this.controller.signal.aborted) {
      const isRefused = failure instanceof TopicdError && failure.status < 429
      if (isRefused) return void this.#levels.delete(path)
      const retrySeconds = failure instanceof TopicdError ? (failure.retryAfterSeconds ?? 0) : 0
      if (failure !== undefined) await wait(Math.max(questionMs, retrySeconds * 1000), undefined)
      failure = await this.#list(path, level, undefined).then(
        () => undefined,
        (error: unknown) => error,
      )
      if (failure === undefined) return
    }
  }

  /** What changes until the answer is applied, once more: the answer may be of before. */
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

  /** Until changes were missed: what would follow is the present state of every topic. */
  async #followOnce(changes: Changes): Promise<void> {
    let hasBegun = false
    for await (const change of changes) {
      if (change.kind === 'restarted') return
      if (change.kind !== 'complete') this.#take(change)
      else if (!hasBegun) {
        hasBegun = true
        // What was listed before may have changed in between; it stays until it is listed anew.
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

  /** @param type of the topic at the path; undefined for one below it @returns whether that is news */
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
      // What fails now is asked again, for as long as this follows.
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

/** As the service writes it; the empty path stays as it is. @throws RangeError for an empty segment */
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

/** @param child undefined if there is none at the path */
function put(level: Level, path: string, child: Child | undefined): void {
  if (child === undefined) level.children?.delete(path)
  else level.children?.set(path, child)
  level.sorted = undefined
}

/** What was known of it stays true. */
function merged(known: Child | undefined, child: Child): Child {
  return { ...child, type: child.type ?? known?.type, hasChildren: child.hasChildren || known?.hasChildren === true }
}
