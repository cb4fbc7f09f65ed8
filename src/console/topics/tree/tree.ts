/**
 * The tree as far as it was opened. Each level is listed when it is opened, further when someone asks for more, and is
 * refreshed a page at a time. Nothing is drawn here.
 */
import type { Child, Listing } from './children.js'
import { comparePaths } from './path-order.js'

/** What is below one path. */
export interface Level {
  readonly parent: string
  /** In tree order. */
  children: readonly Child[]
  /** Where the next page begins; undefined once everything is listed. */
  after: string | undefined
  /** A child beyond that, which someone has asked for. */
  apart: Child | undefined
  /** Where the next refresh begins; undefined for the first child. */
  refreshedTo: string | undefined
  /** Whether the next refresh is of the child that stands apart. */
  isApartDue: boolean
}

/** Lists one page of what is below `parent`, from `after` on. */
type List = (parent: string, after: string | undefined) => Promise<Listing>

/** Describes one child; undefined if there is none. */
type Describe = (path: string) => Promise<Child | undefined>

export class Tree {
  /** The levels that are open, by their parent; that of the top is the empty path. */
  readonly #levels = new Map<string, Level>()
  /** The parents whose levels should be open, also while they cannot be listed. */
  readonly #wanted = new Set<string>()
  /** The listings in flight of levels that are being opened or continued. */
  readonly #listings = new Map<string, Promise<void>>()

  constructor(
    private readonly list: List,
    private readonly describe: Describe,
  ) {}

  /** What is below a path; undefined while that is not open. */
  level(parent: string): Level | undefined {
    return this.#levels.get(parent)
  }

  /** Whether anything is known below a path. */
  hasBelow(path: string): boolean {
    const level = this.#levels.get(parentOf(path))
    const child = level && childrenOf(level).find((child) => child.path === path)
    return child?.hasChildren === true || (this.#levels.get(path)?.children.length ?? 0) > 0
  }

  /** Opens what is below a path. If that fails, it is still wanted, and a refresh tries again. */
  open(parent: string): Promise<void> {
    this.#wanted.add(parent)
    return this.#once(parent, async () => {
      const { children, after } = await this.list(parent, undefined)
      if (this.#wanted.has(parent)) {
        this.#levels.set(parent, {
          parent,
          children,
          after,
          apart: undefined,
          refreshedTo: undefined,
          isApartDue: false,
        })
      }
    })
  }

  /** Does not begin a listing of a level while another is in flight: a button may be pressed twice. */
  #once(parent: string, list: () => Promise<void>): Promise<void> {
    const listing = this.#listings.get(parent) ?? list().finally(() => this.#listings.delete(parent))
    this.#listings.set(parent, listing)
    return listing
  }

  /** Opens every level above a path, as far as there is one, and shows the way there in each. */
  async reveal(path: string): Promise<void> {
    const segments = path.split('/')
    for (let length = 0; length < segments.length; length++) {
      const parent = segments.slice(0, length).join('/')
      if (!this.#levels.has(parent)) await this.open(parent)
      const level = this.#levels.get(parent)
      if (level !== undefined) await this.#revealIn(level, segments.slice(0, length + 1).join('/'))
    }
  }

  /** A child that would be listed only after more pages stands apart from the others. */
  async #revealIn(level: Level, path: string): Promise<void> {
    if (level.after === undefined || childrenOf(level).some((child) => child.path === path)) return
    const child = await this.describe(path)
    // Meanwhile it may have been listed.
    if (child !== undefined && !level.children.some((listed) => listed.path === path)) level.apart = child
  }

  /** Closes a level, and forgets what was below it. */
  close(parent: string): void {
    for (const path of this.#wanted) {
      if (path !== parent && (parent === '' || !path.startsWith(`${parent}/`))) continue
      this.#levels.delete(path)
      this.#wanted.delete(path)
    }
  }

  /** Lists one more page of a level. */
  more(parent: string): Promise<void> {
    return this.#once(parent, async () => {
      const level = this.#levels.get(parent)
      const from = level?.after
      if (level === undefined || from === undefined) return
      const listing = await this.list(parent, from)
      // A refresh may have come to another end meanwhile.
      if (level.after !== from) return
      this.#setChildren(level, merged(level.children, listing.children))
      level.after = listing.after
    })
  }

  /** The paths whose levels should be open, in the order in which they were opened. */
  openParents(): readonly string[] {
    return [...this.#wanted]
  }

  /** Lists one page of a level again: the one after the last that was refreshed. */
  async refresh(parent: string): Promise<void> {
    const level = this.#levels.get(parent)
    if (level === undefined) return this.open(parent)
    if (level.isApartDue) return this.#refreshApart(level)
    const from = level.refreshedTo
    const listing = await this.list(parent, from)
    // It may have been closed, or gone on, meanwhile.
    if (this.#levels.get(parent) !== level || level.refreshedTo !== from) return
    this.#replace(level, from, listing)
  }

  /** Puts a listing in place of the children that it covers: those after `from`, up to its last or to the end. */
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
    // Once all that was listed has been refreshed, it begins again.
    const isAll = stillAfter.length === 0
    level.refreshedTo = isAll ? undefined : after
    if (isAll) level.after = after
    level.isApartDue = isAll && level.apart !== undefined
    for (const path of this.#levels.keys()) this.#closeIfGone(level, path)
  }

  /** Whether a level that is open has more pages to refresh. */
  isPartlyRefreshed(parent: string): boolean {
    const level = this.#levels.get(parent)
    return level !== undefined && (level.refreshedTo !== undefined || level.isApartDue)
  }

  async #refreshApart(level: Level): Promise<void> {
    const { apart } = level
    level.isApartDue = false
    if (apart === undefined) return
    const child = await this.describe(apart.path)
    if (level.apart !== apart) return
    level.apart = child
    if (child === undefined) this.close(apart.path)
  }

  #setChildren(level: Level, children: readonly Child[]): void {
    level.children = children
    if (children.some(({ path }) => path === level.apart?.path)) level.apart = undefined
  }

  /** A level below a child that has gone is of no use. */
  #closeIfGone(level: Level, path: string): void {
    const prefix = level.parent === '' ? '' : `${level.parent}/`
    if (path === level.parent || path === '' || !path.startsWith(prefix)) return
    const child = prefix + (path.slice(prefix.length).split('/')[0] ?? '')
    if (!childrenOf(level).some(({ path: known }) => known === child)) this.close(child)
  }
}

/** The path above a path; the empty one for the top. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('/'), 0))
}

function childrenOf({ children, apart }: Level): readonly Child[] {
  return apart === undefined ? children : [...children, apart]
}

/** Two lists in order; the last child of the first may be the first one of the second. */
function merged(first: readonly Child[], second: readonly Child[]): readonly Child[] {
  const [last, next] = [first.at(-1), second[0]]
  if (last === undefined || next === undefined || last.path !== next.path) return [...first, ...second]
  const both = { ...next, isTopic: last.isTopic || next.isTopic, hasChildren: last.hasChildren || next.hasChildren }
  return [...first.slice(0, -1), both, ...second.slice(1)]
}
