/** Who follows the log of changes in this process. How it is learned that the log has grown is the caller's. */

/** @template T what is known of how it has grown */
export class Followers<T> {
  readonly #all = new Set<{ readonly onGrown: (news: T) => void }>()

  /** @param onWatching called when the first follower comes, and when the last one goes */
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
