/**
 * The tree as far as it was opened. Each level is listed when it is opened, further when someone asks for more, and is
 * refreshed a page at a time. Nothing is drawn here.
 */
import type { Child, Listing } from './children.js'
import { comparePaths } from './path-order.js'

export interface Level {
  readonly parent: string
  /** In tree order. */
  children: readonly Child[]
  /** The start of the next page; undefined once everything is listed. */
  after: string | undefined
  /** A child beyond `after` that the user has requested. */
  pinned: Child | undefined
  /** The start of the next refresh; undefined for the first child. */
  refreshedTo: string | undefined
  /** True if the next refresh is of `pinned`. */
  isPinnedDue: boolean
}

/** One page, from `after` on. */
type List = (parent: string, after: string | undefined) => Promise<Listing>

/** Undefined if there is no such child. */
type Describe = (path: string) => Promise<Child | undefined>

export class Tree {
  /** Open levels by their parent; that of the top is the empty path. */
  readonly #levels = new Map<string, Level>()
  /** Kept even while their levels cannot be listed. */
  readonly #opened = new Set<string>()
  /** Listings in flight, of levels that are being opened or continued. */
  readonly #listings = new Map<string, Promise<void>>()

  constructor(
    private readonly list: List,
    private readonly describe: Describe,
  ) {}

  /** Undefined while the level is not open. */
  level(parent: string): Level | undefined {
    return this.#levels.get(parent)
  }

  hasBelow(path: string): boolean {
    const level = this.#levels.get(parentOf(path))
    const child = level && childrenOf(level).find((child) => child.path === path)
    return child?.hasChildren === true || (this.#levels.get(path)?.children.length ?? 0) > 0
  }

  /** If it fails, a refresh tries again. */
  open(parent: string): Promise<void> {
    this.#opened.add(parent)
    return this.#once(parent, async () => {
      const { children, after } = await this.list(parent, undefined)
      if (this.#opened.has(parent)) {
        this.#levels.set(parent, {
          parent,
          children,
          after,
          pinned: undefined,
          refreshedTo: undefined,
          isPinnedDue: false,
        })
      }
    })
  }

  /** One listing of a level at a time: a button may be pressed twice. */
  #once(parent: string, list: () => Promise<void>): Promise<void> {
    const listing = this.#listings.get(parent) ?? list().finally(() => this.#listings.delete(parent))
    this.#listings.set(parent, listing)
    return listing
  }

  /** Opens every existing level above a path, and shows the way there in each. */
  async reveal(path: string): Promise<void> {
    const segments = path.split('/')
    for (let length = 0; length < segments.length; length++) {
      const parent = segments.slice(0, length).join('/')
      if (!this.#levels.has(parent)) await this.open(parent)
      const level = this.#levels.get(parent)
      if (level !== undefined) await this.#revealIn(level, segments.slice(0, length + 1).join('/'))
    }
  }

  /** A child that would be listed only after more pages is pinned. */
  async #revealIn(level: Level, path: string): Promise<void> {
    if (level.after === undefined || childrenOf(level).some((child) => child.path === path)) return
    const child = await this.describe(path)
    // It may have been listed in the meantime.
    if (child !== undefined && !level.children.some((listed) => listed.path === path)) level.pinned = child
  }

  /** Also forgets the levels below it. */
  close(parent: string): void {
    for (const path of this.#opened) {
      if (path !== parent && (parent === '' || !path.startsWith(`${parent}/`))) continue
      this.#levels.delete(path)
      this.#opened.delete(path)
    }
  }

  more(parent: string): Promise<void> {
    return this.#once(parent, async () => {
      const level = this.#levels.get(parent)
      const from = level?.after
      if (level === undefined || from === undefined) return
      const listing = await this.list(parent, from)
      // A refresh may have reached another end in the meantime.
      if (level.after !== from) return
      this.#setChildren(level, merged(level.children, listing.children))
      level.after = listing.after
    })
  }

  /** In the order in which they were opened. */
  openParents(): readonly string[] {
    return [...this.#opened]
  }

  /** Lists the page after the last one that was refreshed. */
  async refresh(parent: string): Promise<void> {
    const level = this.#levels.get(parent)
    if (level === undefined) return this.open(parent)
    if (level.isPinnedDue) return this.#refreshPinned(level)
    const from = level.refreshedTo
    const listing = await this.list(parent, from)
    // It may have been closed, or refreshed, in the meantime.
    if (this.#levels.get(parent) !== level || level.refreshedTo !== from) return
    this.#replace(level, from, listing)
  }

  /** Replaces the children that the listing covers: those after `from`, up to its last or to the end. */
  #replace(level: Level, from: string | undefined, { children, after }: Listing): void {
    const start = from === undefined ? 0 : level.children.findIndex(({ path }) => comparePaths(path, from) > 0)
    const first = start === -1 ? level.children.length : start
    const before = level.children.slice(0, first)
    const last = children.at(-1)?.path
    const stillAfter =
      after === undefined || last === undefined
        ? []
        : level.children.slice(first).filter(({ path }) => comparePaths(path, last) > 0)
    this.#setChildren(level, merged(merged(before, children), stillAfter))
    // Once all listed children are refreshed, the next refresh starts over.
    const isAll = stillAfter.length === 0
    level.refreshedTo = isAll ? undefined : after
    if (isAll) level.after = after
    level.isPinnedDue = isAll && level.pinned !== undefined
    for (const path of this.#levels.keys()) this.#closeIfGone(level, path)
  }

  /** True if a level that is open has more pages to refresh. */
  isPartlyRefreshed(parent: string): boolean {
    const level = this.#levels.get(parent)
    return level !== undefined && (level.refreshedTo !== undefined || level.isPinnedDue)
  }

  async #refreshPinned(level: Level): Promise<void> {
    const { pinned } = level
    level.isPinnedDue = false
    if (pinned === undefined) return
    const child = await this.describe(pinned.path)
    if (level.pinned !== pinned) return
    level.pinned = child
    if (child === undefined) this.close(pinned.path)
  }

  #setChildren(level: Level, children: readonly Child[]): void {
    level.children = children
    if (children.some(({ path }) => path === level.pinned?.path)) level.pinned = undefined
  }

  /** A level below a removed child is of no use. */
  #closeIfGone(level: Level, path: string): void {
    const prefix = level.parent === '' ? '' : `${level.parent}/`
    if (path === level.parent || path === '' || !path.startsWith(prefix)) return
    const child = prefix + (path.slice(prefix.length).split('/')[0] ?? '')
    if (!childrenOf(level).some(({ path: known }) => known === child)) this.close(child)
  }
}

/** The empty path for the top. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('/'), 0))
}

function childrenOf({ children, pinned }: Level): readonly Child[] {
  return pinned === undefined ? children : [...children, pinned]
}

/** The last child of the first list may be the first one of the second. */
function merged(first: readonly Child[], second: readonly Child[]): readonly Child[] {
  const [last, next] = [first.at(-1), second[0]]
  if (last === undefined || next === undefined || last.path !== next.path) return [...first, ...second]
  const both = { ...next, isTopic: last.isTopic || next.isTopic, hasChildren: last.hasChildren || next.hasChildren }
  return [...first.slice(0, -1), both, ...second.slice(1)]
}
