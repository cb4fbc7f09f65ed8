/**
 * The names of the topics as the client follows them, the topics that have changed last, and whether the service answers. One
 * stream tells all of it, so it is there for as long as the page is. Nothing is drawn here.
 */
import { signal } from '@preact/signals-core'
import { parentOf } from '../../../client/child.js'
import type { Child, Item, LiveTree, TopicChange } from '../../../client/index.js'
import { whileSeen } from '../drawing.js'
import type { Session } from '../session.js'

/** Children that are listed at a time: most branches have fewer, so their natural order is complete. */
const childrenMax = 400

/** Changed topics that are remembered. */
const lastMax = 10

/** A service that restarts is down for less, so a shorter outage is not mentioned. */
const unmentionedMs = 2000

/** Names that come and go are drawn this often, in ms, however many do. */
const tickMs = 50

/** Between attempts to reach a service that is away, in ms, while someone looks. */
const retryMs = 1000

export interface SeenChange extends TopicChange {
  /** When it was made, ISO 8601; of a removal, when it was seen. */
  readonly iso: string
}

export class Names {
  /** Another number after each change of the names. */
  readonly version = signal(0)
  /** The topics that have changed last, the newest first. */
  readonly last = signal<readonly SeenChange[]>([])
  /** Undefined while the names are up to date. */
  readonly outage = signal<{ readonly sinceMs: number; readonly error: unknown } | undefined>(undefined)
  #tree: LiveTree | undefined
  /** Of each list as it came. */
  readonly #ordered = new WeakMap<readonly Child[], readonly Child[]>()
  #ticking: ReturnType<typeof setTimeout> | undefined
  #revealed = ''
  #mention: ReturnType<typeof setTimeout> | undefined
  #stopRetrying = (): void => {}

  /** @param onFailure is told why nothing is followed any more */
  constructor(
    private readonly session: Session,
    private readonly signal: AbortSignal,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** Followed from its first use on: a key that may not fetch has none. */
  get tree(): LiveTree {
    this.#tree ??= this.#follow()
    return this.#tree
  }

  #follow(): LiveTree {
    const { client, key } = this.session
    // Two results for each child, and one more.
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

  /** In natural order, or in tree order while there may be more of them; undefined until they are listed. */
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

  /** The last listed child if there are more. */
  listedTo(path: string): string | undefined {
    void this.version.value
    return this.tree.listedTo(path)
  }

  /** Opens everything above a path, and shows the way there, as far as there is one and until another is asked for. */
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

/** The service does not say when a topic was removed. */
export function timeOf(item: Item | undefined): string {
  return item?.updated ?? new Date().toISOString()
}

const collator = new Intl.Collator('en', { numeric: true })

/** 2 before 10. */
export function compareNaturally(a: string, b: string): number {
  return collator.compare(a, b)
}
