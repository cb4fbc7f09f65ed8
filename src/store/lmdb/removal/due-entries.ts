/**
 * The entries in `due`: reading them, and what follows when their time has come. An entry is evaluated in the transaction
 * that removes its topic or moves it, so an update that comes first always wins. When that is done is decided in
 * expiry.ts.
 */

import { type Clock, type Moment, wallMsOf } from '../../../base/clock.js'
import { waitForSlice } from '../../../base/time-slices.js'
import type { Path } from '../../../topics/path.js'
import { removalOf } from '../../../topics/properties.js'
import { dueMs, tracksUpdates } from '../../../topics/removal/policy.js'
import type { TopicType } from '../../../topics/topic.js'
import { clauseWaitsMs } from '../../shared/remove-clauses.js'
import { loggedBytesMax } from '../environment/change-record.js'
import { type Environment, recordVersion } from '../environment/environment.js'
import type { Snapshots } from '../read/read-freshness.js'
import { type Details, dueKey, dueMsOfKey, encodeSpecification, readSpecification } from '../read/specification.js'
import type { Commits } from '../write/commits.js'
import type { WriteSize } from '../write/disk-room.js'
import type { TopicChanges } from '../write/topic-changes.js'

/** Entries that are examined, and settled, in one transaction. */
const entriesPerSlice = 200

/** An entry of `due`: its key, and the path of its topic. */
export interface Entry {
  readonly key: Buffer
  readonly path: Path
}

/** What the topic of an entry was created with. */
interface Owner {
  readonly type: TopicType
  readonly details: Details
}

/** An entry with what its evaluation found. */
interface Evaluated extends Entry {
  readonly stored: Owner
  readonly dueMs: number
  readonly isDue: boolean
  /** The selector of the policy's `remove` clause; undefined without one. */
  readonly clauseSelector: string | undefined
}

export class DueEntries {
  constructor(
    private readonly environment: Environment,
    private readonly snapshots: Snapshots,
    private readonly commits: Commits,
    private readonly now: Clock,
  ) {}

  /** The time of the first entry, in ms since the epoch; undefined when there is none. */
  firstDueMs(): number | undefined {
    const range = { start: dueKey(0, 0), limit: 1 }
    const [first] = this.snapshots.alone(() => [...this.environment.due.getKeys(range)])
    return first && dueMsOfKey(first)
  }

  /**
   * The entries with times from `fromMs` to `untilMs`, both included, in batches; other work gets its turn in between.
   */
  async *between(fromMs: number, untilMs: number): AsyncGenerator<readonly Entry[]> {
    let start = dueKey(fromMs, 0)
    for (;;) {
      const range = { start, end: dueKey(untilMs + 1, 0), limit: entriesPerSlice }
      const records = this.snapshots.alone(() => [...this.environment.due.getRange(range)])
      const entries = records.map(({ key, value }) => ({ key, path: value.toString() as Path }))
      yield entries
      const last = entries.at(-1)
      if (last === undefined || entries.length < entriesPerSlice) return
      start = Buffer.concat([last.key, Buffer.from([0])])
      await waitForSlice()
    }
  }

  /**
   * Removes the topics of entries that are due and have no clause, with the entries themselves; moves every other entry
   * to the time at which it is due next, or where its clause waits. An entry that no topic owns is removed.
   *
   * @param onDamaged called for an entry whose topic cannot be read, which is left as it is
   * @returns how many topics were removed
   */
  settle(entries: readonly Entry[], onDamaged: (error: unknown) => void): Promise<number> {
    const { due } = this.environment
    return this.commits.run((changes) => {
      changes.put()
      const present = this.now()
      const found = entries.flatMap((entry) => {
        try {
          return [{ entry, evaluated: this.#evaluate(entry, present) }]
        } catch (error) {
          onDamaged(error)
          return []
        }
      })
      return changes.write(() => {
        let removed = 0
        for (const { entry, evaluated } of found) {
          if (evaluated === undefined) void due.remove(entry.key)
          else if (this.#settleOne(evaluated, changes)) removed++
        }
        return removed
      })
    }, this.#sizeOf(entries))
  }

  /** The entry as it is now; undefined if no topic owns it. */
  examine(entry: Entry): Evaluated | undefined {
    return this.snapshots.alone(() => this.#evaluate(entry, this.now()))
  }

  /** Ends the policy, even if the topic has been updated; not that of a topic created again at the path. */
  async endPolicy(entry: Entry): Promise<void> {
    const work = (changes: TopicChanges): void => {
      changes.put()
      const owner = this.#ownerOf(entry)
      if (owner !== undefined) changes.write(() => this.#putDue(entry, owner, undefined))
    }
    await this.commits.run(work, this.#sizeOf([entry]))
  }

  /** @returns whether its topic was removed */
  #settleOne(evaluated: Evaluated, changes: TopicChanges): boolean {
    const { key, path, stored, isDue, clauseSelector } = evaluated
    if (isDue && clauseSelector === undefined) {
      changes.remove(path, stored)
      return true
    }
    const atMs = isDue ? clauseWaitsMs : evaluated.dueMs
    if (Math.floor(atMs) !== dueMsOfKey(key))
      this.#putDue(evaluated, stored, dueKey(atMs, this.environment.nextDueNumber()))
    return false
  }

  /** Replaces the entry by one with another key, or by none, within a transaction's callback. */
  #putDue({ key, path }: Entry, { type, details }: Owner, next: Buffer | undefined): void {
    const { specifications, due } = this.environment
    const record = encodeSpecification({ type, details: { ...details, due: next?.toString('hex') } })
    void specifications.put(path, record, recordVersion)
    void due.remove(key)
    if (next !== undefined) void due.put(next, Buffer.from(path))
  }

  /** What the topic is that owns the entry; undefined if none does. */
  #ownerOf({ key, path }: Entry): Owner | undefined {
    const stored = readSpecification(this.environment.specifications, path)
    if (stored?.details?.due !== key.toString('hex')) return undefined
    return { type: stored.type, details: stored.details }
  }

  /** Evaluates the entry by what is stored; undefined if no topic owns it. */
  #evaluate(entry: Entry, present: Moment): Evaluated | undefined {
    const stored = this.#ownerOf(entry)
    const policy = stored && removalOf(stored.details.properties)
    if (stored === undefined || policy === undefined) return undefined
    const created = wallMsOf(stored.details.created, present)
    const update = tracksUpdates(policy) ? this.environment.updates.get(entry.path) : undefined
    const updated = update ? wallMsOf(JSON.parse(update.toString()) as Moment, present) : created
    const atMs = dueMs(policy, created, updated)
    return { ...entry, stored, dueMs: atMs, isDue: atMs <= present.wallMs, clauseSelector: policy.selector }
  }

  /** A change of an entry writes the specification again. */
  #sizeOf(entries: readonly Entry[]): WriteSize {
    const { specifications } = this.environment
    const bytesOf = ({ path }: Entry): number =>
      loggedBytesMax(path) + (specifications.getBinaryFast(path)?.length ?? 0)
    const bytes = this.snapshots.alone(() => entries.reduce((sum, entry) => sum + bytesOf(entry), 0))
    return { operations: entries.length, bytes, grows: false }
  }
}
