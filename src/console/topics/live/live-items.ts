/**
 * The current values of the topics on the screen: each path is followed as long as it is shown. All topics share one stream
 * if their paths fit into one selector. Nothing is drawn here.
 */
import { signal } from '@preact/signals-core'
import { type Client, type Item, type LiveTopics, topic } from '../../../client/index.js'
import { partsOf, selectorsOf } from './selectors.js'

/** Minimum interval between two changes to the followed paths, in ms, because names may appear and disappear at any rate. */
const changeMs = 1000

/** Paths that are followed together. */
interface Part {
  readonly paths: readonly string[]
  readonly live: LiveTopics
  isLoaded: boolean
}

interface Seen {
  /** Undefined if there is no topic. */
  readonly item: Item | undefined
  /** The number of changes since the topic appeared on the screen. */
  readonly changes: number
}

export class LiveItems {
  readonly #seen = new Map<string, Seen>()
  /** Counts all changes, so that each change redraws every view that read an item. */
  readonly #count = signal(0)
  #parts: readonly Part[] = []
  #wanted: ReadonlySet<string> = new Set()
  #changing: ReturnType<typeof setTimeout> | undefined
  #changedMs = Number.NEGATIVE_INFINITY

  /** @param onFailure receives the reason why some paths are no longer followed */
  constructor(
    private readonly client: Client,
    private readonly signal: AbortSignal,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** Undefined if there is no topic, or if it has not arrived yet. */
  get(path: string): Item | undefined {
    void this.#count.value
    return this.#seen.get(path)?.item
  }

  /** True once it is known whether there is a topic at the path. */
  isLoaded(path: string): boolean {
    void this.#count.value
    return this.#parts.some(({ paths, isLoaded }) => isLoaded && paths.includes(path))
  }

  changes(path: string): number {
    void this.#count.value
    return this.#seen.get(path)?.changes ?? 0
  }

  /** Follows only these paths. */
  show(paths: readonly string[]): void {
    this.#wanted = new Set(paths)
    clearTimeout(this.#changing)
    const waitMs = Math.max(0, this.#changedMs + changeMs - performance.now())
    // When `#follow` runs, paths that are no longer shown have left the shared stream.
    this.#changing = setTimeout(() => this.#follow(), this.#dropUnwanted() ? waitMs : 0)
  }

  /** Stops following parts without a shown path. @returns whether other parts remain */
  #dropUnwanted(): boolean {
    const isWanted = ({ paths }: Part) => paths.some((path) => this.#wanted.has(path))
    for (const part of this.#parts) if (!isWanted(part)) part.live.close()
    this.#parts = this.#parts.filter(isWanted)
    return this.#parts.length > 0
  }

  #follow(): void {
    const followed = new Set(this.#parts.flatMap(({ paths }) => paths))
    for (const path of this.#seen.keys()) if (!followed.has(path) && !this.#wanted.has(path)) this.#seen.delete(path)
    const missing = [...this.#wanted].filter((path) => !followed.has(path))
    // The first part does not delay the next one: a topic is followed first, then its children.
    if (this.#parts.length === 0) this.#changedMs = Number.NEGATIVE_INFINITY
    else if (missing.length > 0) this.#changedMs = performance.now()
    this.#parts = [...this.#parts, ...partsOf(missing).map((paths) => this.#partOf(paths))]
  }

  #partOf(paths: readonly string[]): Part {
    const { signal } = this
    const [selector = ''] = selectorsOf(paths, topic)
    const live = this.client.follow(selector, { type: 'any', with_version: true, with_properties: true, signal })
    const part: Part = { paths, live, isLoaded: false }
    live.addEventListener('change', ({ detail: { path, item } }) => {
      this.#seen.set(path, { item, changes: this.changes(path) + Number(part.isLoaded) })
      this.#count.value++
    })
    live.addEventListener('complete', () => {
      if (part.isLoaded) return
      part.isLoaded = true
      for (const path of paths) if (!live.topics.has(path)) this.#seen.delete(path)
      this.#count.value++
    })
    live.addEventListener('error', ({ detail }) => {
      this.#parts = this.#parts.filter((other) => other !== part)
      this.onFailure(detail)
    })
    return part
  }
}
