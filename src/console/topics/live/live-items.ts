/**
 * The topics whose values are on the screen, as the service has them now: each path is followed for as long as it is shown. All
 * share one stream, where their paths fit into one selector. Nothing is drawn here.
 */
import { signal } from '@preact/signals-core'
import { type Client, type Item, type LiveTopics, topic } from '../../../client/index.js'
import { partsOf, selectorsOf } from './selectors.js'

/** Between two changes of what is followed, in ms: names may come and go at any rate. */
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
  /** How often it has changed since it is shown. */
  readonly changes: number
}

export class LiveItems {
  readonly #seen = new Map<string, Seen>()
  /** Counts all changes, and so has everything that was read drawn again. */
  readonly #count = signal(0)
  #parts: readonly Part[] = []
  #wanted: ReadonlySet<string> = new Set()
  #changing: ReturnType<typeof setTimeout> | undefined
  #changedMs = Number.NEGATIVE_INFINITY

  /** @param onFailure is told why some are not followed any more */
  constructor(
    private readonly client: Client,
    private readonly signal: AbortSignal,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** Undefined if there is no topic, or it has not arrived yet. */
  get(path: string): Item | undefined {
    void this.#count.value
    return this.#seen.get(path)?.item
  }

  /** True once it is known whether there is a topic. */
  isLoaded(path: string): boolean {
    void this.#count.value
    return this.#parts.some(({ paths, isLoaded }) => isLoaded && paths.includes(path))
  }

  changes(path: string): number {
    void this.#count.value
    return this.#seen.get(path)?.changes ?? 0
  }

  /** Follows these paths, and no others. */
  show(paths: readonly string[]): void {
    this.#wanted = new Set(paths)
    clearTimeout(this.#changing)
    const waitMs = Math.max(0, this.#changedMs + changeMs - performance.now())
    // What is followed no longer has left its stream by then.
    this.#changing = setTimeout(() => this.#follow(), this.#dropUnwanted() ? waitMs : 0)
  }

  /** @returns whether others stay */
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
    // A topic that is shown anew is followed before what is below it, which does not wait.
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
