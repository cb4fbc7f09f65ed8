/**
 * The names below a path, as far as they were opened, kept up to date by one stream without values. A level is listed when it
 * is opened; each change then says what it does to the levels above it. Only if a removal may have emptied a branch, the service
 * is asked. During an outage it keeps the last state, then catches up.
 */
import { type Child, childrenIn, compareNames, nameOf, parentOf } from '../child.js'
import type { Client } from '../client.js'
import { everything, segmentsOf, subtree } from '../selectors.js'
import { wait } from '../wait.js'
import type { Result } from './attempt.js'
import { type ConnectionEvents, type Disconnection, TypedTarget } from './events.js'
import type { TopicChange } from './live-topics.js'

/** Children that are listed at a time unless the caller says otherwise. */
const sizeDefault = 100

/** Before it is asked whether branches are empty, in ms: an expiry removes thousands of topics, one after the other. */
const questionMs = 500

interface TreeEvents extends ConnectionEvents {
  readonly change: Event
  readonly topic: CustomEvent<TopicChange>
  readonly error: CustomEvent<unknown>
}

interface Level {
  children: Map<string, Child>
  /** The same in tree order; undefined until someone asks. */
  sorted: readonly Child[] | undefined
  /** Later children are not listed yet; undefined once all are. */
  listedTo: string | undefined
  isListed: boolean
  /** Of its next children; one at a time. */
  listing: Promise<void> | undefined
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
  /** Resolves once the first children are listed; rejects if that fails. */
  readonly ready: Promise<void>
  readonly #levels = new Map<string, Level>()
  /** Branches that may be empty. */
  readonly #doubtful = new Set<string>()
  #isAsking = false
  /** Changes since the first request that is under way was sent: its answer may not show them. */
  #recent: Result[] = []
  #underWay = 0

  /** @param path the empty path for all topics */
  constructor(
    private readonly client: Client,
    readonly path: string,
    private readonly controller: AbortController,
    private readonly size = sizeDefault,
  ) {
    super()
    this.ready = this.open(path)
    // The `error` event also reports it.
    this.ready.catch(() => {})
    void this.#follow()
  }

  /** In tree order; undefined until the path is open and its children are listed. */
  children(path: string): readonly Child[] | undefined {
    const level = this.#levels.get(path)
    if (level?.isListed !== true) return undefined
    level.sorted ??= [...level.children.values()].sort((a, b) => compareNames(a.name, b.name))
    return level.sorted
  }

  /** The last of the listed children if there may be more; `more` lists them. */
  listedTo(path: string): string | undefined {
    return this.#levels.get(path)?.listedTo
  }

  /** In the order in which they were opened. */
  get opened(): readonly string[] {
    return [...this.#levels.keys()]
  }

  /** Lists the first children of a path, and keeps them up to date. @throws what the client throws; the level stays closed */
  async open(path: string): Promise<void> {
    if (this.#levels.has(path)) return this.#levels.get(path)?.listing
    const level = newLevel()
    this.#levels.set(path, level)
    try {
      await this.#list(path, level, undefined)
    } catch (error) {
      if (this.#levels.get(path) === level) this.#levels.delete(path)
      throw error
    }
  }

  /** Lists the next children. @throws what the client throws */
  async more(path: string): Promise<void> {
    const level = this.#levels.get(path)
    if (level?.listedTo !== undefined) await this.#list(path, level, level.listedTo)
  }

  /** Lists a child that may come after those that are listed. @throws what the client throws */
  async include(path: string): Promise<void> {
    const level = this.#levels.get(parentOf(path))
    if (level !== undefined && !level.children.has(path)) await this.#check(path)
  }

  /** Forgets the children of a path, and all that is open below it. */
  close(path: string): void {
    for (const open of this.#levels.keys()) if (open === path || isWithin(open, path)) this.#levels.delete(open)
    this.#changed()
  }

  /** Ends following. */
  end(): void {
    this.controller.abort()
  }

  /** @param after a listed child; undefined to list anew */
  #list(path: string, level: Level, after: string | undefined): Promise<void> {
    level.listing ??= this.#ask(() => this.#listNext(path, level, after)).finally(() => {
      level.listing = undefined
      this.#changed()
    })
    return level.listing
  }

  async #listNext(path: string, level: Level, after: string | undefined): Promise<void> {
    const children = new Map(after === undefined ? [] : level.children)
    let [count, last] = [0, after]
    let listedTo: string | undefined
    // Two results for each branch, and one more that tells that there are more.
    const listed = this.client.list(path, { after, size: 2 * this.size + 1, signal: this.controller.signal })
    for await (const child of listed) {
      // What is below the child after which they are listed comes first.
      if (child.path !== after && count++ === this.size) {
        listedTo = last
        break
      }
      last = child.path
      children.set(child.path, merged(children.get(child.path), child))
    }
    Object.assign(level, { children, listedTo, sorted: undefined, isListed: true })
  }

  /** What changes until the answer is applied, once more: the answer may be of before. */
  async #ask(question: () => Promise<void>): Promise<void> {
    this.#underWay++
    try {
      await question()
    } finally {
      for (const change of this.#recent) this.#apply(change)
      if (--this.#underWay === 0) this.#recent = []
    }
  }

  async #follow(): Promise<void> {
    try {
      for (;;) await this.#followOnce()
    } catch (error) {
      if (!this.controller.signal.aborted) this.dispatchEvent(new CustomEvent('error', { detail: error }))
      this.controller.abort()
    }
  }

  /** Until changes were missed: what would follow is the present state of every topic. */
  async #followOnce(): Promise<void> {
    const changes = this.client.changes(this.path === '' ? everything : subtree(this.path), {
      since: 'now',
      type: 'any',
      with_values: false,
      with_version: true,
      signal: this.controller.signal,
    })
    changes.addEventListener('connected', () => this.dispatchEvent(new Event('connected')))
    changes.addEventListener('disconnected', ({ detail }) =>
      this.dispatchEvent(new CustomEvent<Disconnection>('disconnected', { detail })),
    )
    let hasBegun = false
    for await (const change of changes) {
      if (change.kind === 'restarted') return
      if (change.kind !== 'complete') this.#take(change)
      else if (!hasBegun) {
        hasBegun = true
        await this.#relist()
      }
    }
  }

  /** What was listed before the stream began may have changed in between; it stays until it is listed anew. */
  async #relist(): Promise<void> {
    const { signal } = this.controller
    for (const [path, level] of this.#levels) {
      // One that is under way may be of before.
      await level.listing?.catch(() => {})
      const list = () => this.#list(path, level, undefined).then(() => true)
      while (!(await list().catch(() => false))) await wait(questionMs, signal)
    }
  }

  #take(change: Result): void {
    if (this.#underWay > 0) this.#recent.push(change)
    this.#apply(change)
    const item = change.kind === 'topic' ? change.item : undefined
    this.dispatchEvent(new CustomEvent<TopicChange>('topic', { detail: { path: change.path, item } }))
  }

  #apply(change: Result): void {
    const { path } = change
    let hasChanged = false
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
      const child = path.slice(0, end)
      const level = this.#levels.get(parentOf(child))
      if (level === undefined) continue
      const known = level.children.get(child)
      const type = change.kind === 'topic' ? change.item.type : undefined
      if (type !== undefined) hasChanged = addTo(level, child, child === path ? type : undefined) || hasChanged
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
      if (child?.hasChildren !== true) this.close(path)
    })
    this.#changed()
  }

  #changed(): void {
    this.dispatchEvent(new Event('change'))
  }
}

function isWithin(path: string, parent: string): boolean {
  return parent === '' || path.startsWith(`${parent}/`)
}

function newLevel(): Level {
  return { children: new Map(), sorted: undefined, listedTo: undefined, isListed: false, listing: undefined }
}

/** @param child undefined if there is none at the path */
function put(level: Level, path: string, child: Child | undefined): void {
  if (child === undefined) level.children.delete(path)
  else level.children.set(path, child)
  level.sorted = undefined
}

/** A child may be cut between two listings. */
function merged(known: Child | undefined, child: Child): Child {
  return { ...child, type: child.type ?? known?.type, hasChildren: child.hasChildren || known?.hasChildren === true }
}

/** @param type of the topic at the path; undefined for one below it @returns whether that is news */
function addTo(level: Level, path: string, type: Child['type']): boolean {
  const known = level.children.get(path)
  const name = nameOf(path)
  const { listedTo } = level
  const isBeyond = listedTo !== undefined && compareNames(name, nameOf(listedTo)) > 0
  if (known === undefined ? isBeyond : type === undefined ? known.hasChildren : known.type === type) return false
  put(level, path, merged(known, { path, name, type, hasChildren: type === undefined }))
  return true
}
