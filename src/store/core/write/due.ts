/** Decides which due topics to remove, in the commit that removes them, so that a topic survives if an update is committed first. */
import type { Moment } from '../../../base/clock.js'
import type { Path } from '../../../topics/path.js'
import type { Changes, DuePlace, Stored, StoredTopic } from '../../engine.js'
import { UnreadableTopic } from '../../errors.js'
import { ownedBy } from '../due-time.js'
import { type BatchDecisions, headAlone } from './batch.js'

/**
 * The due time of a topic whose clause waits, as Unix time in ms: earlier than any policy can be due. To a release without waiting
 * clauses, such a topic is long overdue.
 */
export const clauseWaitsMs = 0

export interface DueOutcome {
  readonly removed: number
  /** Left unchanged. */
  readonly unreadable: readonly UnreadableTopic[]
}

export class DueDecisions {
  /** `dueMs` is undefined if the topic is never due. */
  readonly #rescheduled = new Map<Path, { readonly topic: StoredTopic; readonly dueMs: number | undefined }>()
  readonly #unowned: DuePlace[] = []

  constructor(
    private readonly stored: Stored,
    private readonly moment: Moment,
    private readonly topics: BatchDecisions,
  ) {}

  /**
   * Removes due topics without a clause. For every other topic, decides when it is next due, or that its clause waits. Topics
   * that requests of the same commit have changed are left to the next sweep.
   *
   * @param endsPolicies whether to end the policies instead of applying them, even if the topics have been updated
   */
  decide(places: readonly DuePlace[], endsPolicies: boolean): DueOutcome {
    let removed = 0
    const unreadable: UnreadableTopic[] = []
    for (const place of places) {
      try {
        if (this.#settle(place, endsPolicies)) removed++
      } catch (error) {
        if (!(error instanceof UnreadableTopic)) throw error
        unreadable.push(error)
      }
    }
    return { removed, unreadable }
  }

  end(changes: Changes): void {
    for (const [path, { topic, dueMs }] of this.#rescheduled) {
      const change = this.topics.changeOf(path)
      if (change === undefined || (!change.isRemoved && change.creator === undefined)) {
        changes.reschedule(path, topic, dueMs)
      }
    }
    for (const place of this.#unowned) changes.dropDue(place)
  }

  /** @returns whether its topic is removed */
  #settle(place: DuePlace, endsPolicy: boolean): boolean {
    const { path, id } = place
    if (path === undefined) return this.#drop(place)
    const topic = this.stored.topic(path, undefined, headAlone)
    if (topic === undefined) return this.#drop(place)
    if (endsPolicy) return topic.head()?.due?.id === id ? this.#reschedule(path, topic, undefined) : this.#drop(place)
    if (this.topics.changeOf(path) !== undefined) return false
    const evaluated = ownedBy(place, path, topic, this.moment)
    if (evaluated === undefined) return this.#drop(place)
    const { dueMs, isDue, selector } = evaluated
    if (isDue && selector === undefined) {
      this.topics.decide([{ kind: 'remove', path, item: undefined }], true)
      return true
    }
    const nextMs = isDue ? clauseWaitsMs : dueMs
    return Math.floor(nextMs) !== place.atMs && this.#reschedule(path, topic, nextMs)
  }

  #reschedule(path: Path, topic: StoredTopic, dueMs: number | undefined): false {
    this.#rescheduled.set(path, { topic, dueMs })
    return false
  }

  #drop(place: DuePlace): false {
    this.#unowned.push(place)
    return false
  }
}
