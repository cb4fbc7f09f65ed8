/** The followers of the change log in this process. The caller detects growth. */

/** @template T the known details of the growth */
export class Followers<T> {
  readonly #all = new Set<{ readonly onGrown: (news: T) => void }>()

  /** @param onWatching called when the first follower is added and when the last one is removed */
  constructor(private readonly onWatching: () => void = () => {}) {}

  get isWatching(): boolean {
    return this.#all.size > 0
  }

  /** Calls `onGrown` at each `notify`, until the returned function is called. */
  add(onGrown: (news: T) => void): () => void {
    const follower = { onGrown }
    this.#all.add(follower)
    if (this.#all.size === 1) this.onWatching()
    return () => {
      if (this.#all.delete(follower) && this.#all.size === 0) this.onWatching()
    }
  }

  notify(news: T): void {
    for (const { onGrown } of [...this.#all]) onGrown(news)
  }
}
