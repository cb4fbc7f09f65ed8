/**
 * The tree as far as it was opened. Each level is listed when it is opened, further when someone asks for more, and is
 * refreshed a page at a time. Nothing is drawn here.
 */
import type { Child, Listing } from './children.js'

/** What is below one path. */
export interface Level {
  readonly parent: string
  /** In tree order. */
  children: readonly Child[]
  /** Where the next page begins; undefined once everything is listed. */
  after: string | undefined
  /** Where the next refresh begins; undefined for the first child. */
  refreshedTo: string | undefined
}

/** Lists one page of what is below `parent`, from `after` on. */
type List = (parent: string, after: string | undefined) => Promise<Listing>

export class Tree {
  readonly #list: List
  /** The levels that are open, by their parent; that of the top is the empty path. */
  readonly #levels = new Map<string, Level>()
  /** The parents whose levels should be open, also while they cannot be listed. */
  readonly #wanted = new Set<string>()
  /** The listings in flight of levels that are being opened or continued. */
  readonly #listings = new Map<string, Promise<void>>()

  /** @param list lists a page of children */
  constructor(list: List) {
    this.#list = list
  }

  /** What is below a path; undefined while that is not open. */
  level(parent: string): Level | undefined {
    return this.#levels.get(parent)
  }

  /** Whether anything is known below a path. */
  hasBelow(path: string): boolean {
    const parent = path.slice(0, Math.max(path.lastIndexOf('/'), 0))
    const child = this.#levels.get(parent)?.children.find((child) => child.path === path)
    return child?.hasChildren === true || (this.#levels.get(path)?.children.length ?? 0) > 0
  }

  /** Opens what is below a path. If that fails, it is still wanted, and a refresh tries again. */
  open(parent: string): Promise<void> {
    this.#wanted.add(parent)
    return this.#once(parent, async () => {
      const { children, after } = await this.#list(parent, undefined)
      if (this.#wanted.has(parent)) this.#levels.set(parent, { parent, children, after, refreshedTo: undefined })
    })
  }

  /** Does not begin a listing of a level while another is in flight: a button may be pressed twice. */
  #once(parent: string, list: () => Promise<void>): Promise<void> {
    const listing = this.#listings.get(parent) ?? list().finally(() => this.#listings.delete(parent))
    this.#listings.set(parent, listing)
    return listing
  }

  /** Opens every level above a path, as far as there is one. */
  async reveal(path: string): Promise<void> {
    const segments = path.split('/')
    for (let length = 0; length < segments.length; length++) {
      const parent = segments.slice(0, length).join('/')
      if (!this.#levels.has(parent)) await this.open(parent)
    }
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
      const listing = await this.#list(parent, from)
      // A refresh may have come to another end meanwhile.
      if (level.after !== from) return
      level.children = merged(level.children, listing.children)
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
    const from = level.refreshedTo
    const listing = await this.#list(parent, from)
    // It may have been closed, or gone on, meanwhile.
    if (this.#levels.get(parent) !== level || level.refreshedTo !== from) return
    this.#replace(level, from, listing)
  }

  #replace(level: Level, from: string | undefined, { children, after }: Listing): void {
    const start = from === undefined ? 0 : level.children.findIndex(({ path }) => startsAfter(path, from))
    const first = start === -1 ? level.children.length : start
    const before = level.children.slice(0, first)
    const last = children.at(-1)?.path
    const stillAfter =
      after === undefined || last === undefined
        ? []
        : level.children.slice(first).filter(({ path }) => compare(path, last) > 0)
    level.children = merged(merged(before, children), stillAfter)
    // Once all that was listed has been refreshed, it begins again.
    const isAll = stillAfter.length === 0
    level.refreshedTo = isAll ? undefined : after
    if (isAll) level.after = after
    for (const path of this.#levels.keys()) this.#closeIfGone(level, path)
  }

  /** A level below a child that has gone is of no use. */
  #closeIfGone(level: Level, path: string): void {
    const prefix = level.parent === '' ? '' : `${level.parent}/`
    if (path === level.parent || path === '' || !path.startsWith(prefix)) return
    const child = prefix + (path.slice(prefix.length).split('/')[0] ?? '')
    if (!level.children.some(({ path: known }) => known === child)) this.close(child)
  }
}

/** Two lists in order; the last child of the first may be the first one of the second. */
function merged(first: readonly Child[], second: readonly Child[]): readonly Child[] {
  const [last, next] = [first.at(-1), second[0]]
  if (last === undefined || next === undefined || last.path !== next.path) return [...first, ...second]
  const both = { ...next, isTopic: last.isTopic || next.isTopic, hasChildren: last.hasChildren || next.hasChildren }
  return [...first.slice(0, -1), both, ...second.slice(1)]
}

/** Whether a child comes after a place in the tree, which may be within another child's branch. */
function startsAfter(path: string, place: string): boolean {
  return compare(path, place) > 0
}

const encoder = new TextEncoder()

/** The order of paths in the tree: segment by segment, by the bytes of their UTF-8. */
function compare(a: string, b: string): number {
  const [as, bs] = [a.split('/'), b.split('/')]
  for (let i = 0; i < Math.min(as.length, bs.length); i++) {
    const order = compareBytes(encoder.encode(as[i]), encoder.encode(bs[i]))
    if (order !== 0) return order
  }
  return as.length - bs.length
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = (a[i] as number) - (b[i] as number)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
