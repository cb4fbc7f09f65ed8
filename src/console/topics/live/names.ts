/**
 * The names of the topics, the latest changes, and whether the service is connected. One stream, which stays open until the
 * session ends, keeps all of this up to date. Nothing is drawn here.
 */
import { signal } from '@preact/signals-core'
import { parentOf } from '../../../client/child.js'
import type { Child, Item, LiveTree, TopicChange } from '../../../client/index.js'
import { whileSeen } from '../drawing.js'
import type { Session } from '../session.js'

/** Maximum number of children listed at a time: most branches have fewer, so all children can be sorted in natural order. */
const childrenMax = 400

/** Maximum number of remembered changes. */
const lastMax = 10

/** Shorter outages, in ms, are not shown, because a restart of the service takes less time. */
const unmentionedMs = 2000

/** Minimum interval between draws of changed names, in ms. */
const tickMs = 50

/** Interval between attempts to reach an unavailable service, in ms, while the page is visible. */
const retryMs = 1000

export interface SeenChange extends TopicChange {
  /** The time of the change in ISO 8601; for a removal, the time at which it was seen. */
  readonly iso: string
}

export class Names {
  /** Increases after changes to the names, at most once per `tickMs`. */
  readonly version = signal(0)
  /** The latest changes, the newest first, one per topic. */
  readonly last = signal<readonly SeenChange[]>([])
  /** Undefined while the names are up to date. */
  readonly outage = signal<{ readonly sinceMs: number; readonly error: unknown } | undefined>(undefined)
  #tree: LiveTree | undefined
  /** The sorted children, keyed by the unsorted list. */
  readonly #ordered = new WeakMap<readonly Child[], readonly Child[]>()
  #ticking: ReturnType<typeof setTimeout> | undefined
  #revealed = ''
  #mention: ReturnType<typeof setTimeout> | undefined
  #stopRetrying = (): void => {}

  /** @param onFailure receives the reason why the names are no longer followed */
  constructor(
    private readonly session: Session,
    private readonly signal: AbortSignal,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** Created on first use, because a key without the permission `fetch` cannot follow the tree. */
  get tree(): LiveTree {
    this.#tree ??= this.#follow()
    return this.#tree
  }

  #follow(): LiveTree {
    const { client, key } = this.session
    // Listing takes two results per child, plus one.
    const size = Math.max(1, Math.min(childrenMax, Math.floor((key.pageSizeMax - 1) / 2)))
    const tree = client.followTree('', { size, signal: this.signal })
    tree.addEventListener('change', () => this.#tick())
    tree.addEventListener('topic', ({ detail }) => this.#see(detail))
    tree.addEventListener('error', ({ detail }) => this.onFailure(detail))
    tree.addEventListener('connected', () => this.#found())
    tree.addEventListener('disconnected', ({ detail: { error } }) => {
      const sinceMs = this.outage.peek()?.sinceMs ?? Date.now()
      this.#found()
      this.#mention = setTimeout(() => (this.outage.value = { sinceMs, error }), unmentionedMs)
      this.#stopRetrying = whileSeen(retryMs, () => client.retry())
    })
    this.signal.addEventListener('abort', () => this.#found())
    return tree
  }

  /** The children in natural order, or in tree order while there may be more; undefined until they are listed. */
  children(path: string): readonly Child[] | undefined {
    void this.version.value
    const children = this.tree.children(path)
    if (children === undefined || this.tree.listedTo(path) !== undefined) return children
    const ordered = this.#ordered.get(children) ?? children.toSorted((a, b) => compareNaturally(a.name, b.name))
    this.#ordered.set(children, ordered)
    return ordered
  }

  child(path: string): Child | undefined {
    return this.children(parentOf(path))?.find((child) => child.path === path)
  }

  hasBelow(path: string): boolean {
    return path === '' || this.child(path)?.hasChildren === true || (this.children(path)?.length ?? 0) > 0
  }

  /** The last listed child if there may be more; otherwise undefined. */
  listedTo(path: string): string | undefined {
    void this.version.value
    return this.tree.listedTo(path)
  }

  /** Opens the levels above a path and includes the path in them. Stops at a missing level, or if another path is requested. */
  async reveal(path: string): Promise<void> {
    this.#revealed = path
    for (let end = path.indexOf('/'); this.#revealed === path; end = path.indexOf('/', end + 1)) {
      const child = end === -1 ? path : path.slice(0, end)
      await this.tree.open(parentOf(child))
      await this.tree.include(child)
      if (end === -1 || this.child(child) === undefined) return
    }
  }

  #tick(): void {
    this.#ticking ??= setTimeout(() => {
      this.#ticking = undefined
      this.version.value++
    }, tickMs)
  }

  #see(change: TopicChange): void {
    const others = this.last.peek().filter(({ path }) => path !== change.path)
    this.last.value = [{ ...change, iso: timeOf(change.item) }, ...others].slice(0, lastMax)
  }

  #found(): void {
    clearTimeout(this.#mention)
    this.#stopRetrying()
    this.outage.value = undefined
  }
}

/** The time of a change; the current time for a removal, whose time the service does not report. */
export function timeOf(item: Item | undefined): string {
  return item?.updated ?? new Date().toISOString()
}

const collator = new Intl.Collator('en', { numeric: true })

/** Natural order, in which 2 precedes 10. */
export function compareNaturally(a: string, b: string): number {
  return collator.compare(a, b)
}
