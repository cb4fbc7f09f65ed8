/** Long polls: a poll is a follower that leaves after its first page, which has something on it or is given after a time. */
import { Cancelled } from '../base/cancellation.js'
import type { Reading } from './feed.js'
import { Follower } from './follower.js'
import { bodyOf, type ChangesPage, type PageBytes } from './page.js'

/** A request that may wait: it can end before it is answered. */
export interface Ongoing {
  readonly aborted: boolean
  /** To be set by the one who waits; called once `aborted` is set. */
  onAborted: (() => void) | undefined
}

/** Whether a poll is to be answered immediately. */
export function hasSomething({ results, hasMore }: ChangesPage): boolean {
  return results.length > 0 || hasMore
}

export class Poll extends Follower {
  #isDue = false
  #answer = (_body: Buffer | 'gone'): void => {}
  override onFailure = (_error: unknown): void => {}

  /** The body of its page: an empty one after `waitMs`. @throws Cancelled; StoreError */
  async body(waitMs: number, ongoing: Ongoing): Promise<Buffer | 'gone'> {
    // Nobody has listened for that until now.
    if (ongoing.aborted) throw new Cancelled()
    const timer = setTimeout(() => this.end(), waitMs)
    try {
      return await new Promise((resolve, reject) => {
        this.#answer = resolve
        this.onFailure = reject
        ongoing.onAborted = () => reject(new Cancelled())
        void this.join()
      })
    } finally {
      clearTimeout(timer)
      ongoing.onAborted = undefined
      this.leave()
    }
  }

  /** Answers now; if a page is being read, with that. */
  end(): void {
    this.#isDue = true
    this.giveEmpty()
  }

  /** Of several pages only the last is the state of a moment, so the poll reads its own. */
  override onPages(pages: readonly PageBytes[], reading: Reading): void {
    if (pages.length > 1) this.onMissed(reading.to)
    else super.onPages(pages, reading)
  }

  protected wants(page: ChangesPage): boolean {
    return this.#isDue || hasSomething(page)
  }

  protected give(page: PageBytes): boolean {
    this.#answer(bodyOf(page))
    return false
  }

  protected onLost(): void {
    this.#answer('gone')
  }
}
