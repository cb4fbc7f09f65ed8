/**
 * The entries in `due`: reading them, and what follows when their time has come. An entry is evaluated in the transaction
 * that removes its topic or moves it, so an update that comes first always wins. When that is done is decided in
 * expiry.ts.
 */

import { type Clock, type Moment, wallMsOf } from '../../../base/clock.js'
import { waitForSlice } from '../../../base/time-slices.js'
import { type Path, parsePath } from '../../../topics/path.js'
import { removalOf } from '../../../topics/properties.js'
import { type RemovalPolicy, tracksUpdates } from '../../../topics/removal/policy.js'
import type { TopicType } from '../../../topics/topic.js'
import { loggedBytesMax } from '../../logged-keys.js'
import { clauseWaitsMs } from '../../shared/remove-clauses.js'
import { readOf, storedDueMs, UnreadableTopic } from '../../unreadable-topic.js'
import { type Environment, recordVersion } from '../environment/environment.js'
import type { Snapshots } from '../view/read-freshness.js'
import { type Details, dueKey, dueMsOfKey, encodeSpecification, readSpecification } from '../view/specification.js'
import type { Commits } from '../write/commits.js'
import type { WriteSize } from '../write/disk-room.js'
import type { TopicChanges } from '../write/topic-changes.js'

/** Entries that are examined, and settled, in one transaction. */
const entriesPerSlice = 200

/** An entry of `due`: its key, and the path of its topic; undefined if its value is none. */
export interface Entry {
  readonly key: Buffer
  readonly path: Path | undefined
}

/** The topic of an entry, and what it was created with. */
interface Owner {
  readonly path: Path
  readonly type: TopicType
  readonly details: Details
}

/** An entry with what its evaluation found. */
interface Evaluated extends Entry {
  readonly path: Path
  readonly stored: Owner
  /** The time in its key. */
  readonly entryMs: number
  readonly dueMs: number
  readonly isDue: boolean
  /** The selector of the policy's `remove` clause; undefined without one. */
  readonly clauseSelector: string | undefined
}

export class DueEntries {
  /** Whether a transaction has met a topic that cannot be read: each sweep does, and must not commit for its sake. */
  #hasUnreadable = false

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
    return first && readDueMs(first)
  }

  /**
   * The entries with times from `fromMs` to `untilMs`, both included, in batches; other work gets its turn in between.
   */
  async *between(fromMs: number, untilMs: number): AsyncGenerator<readonly Entry[]> {
    let start = dueKey(fromMs, 0)
    for (;;) {
      const range = { start, end: dueKey(untilMs + 1, 0), limit: entriesPerSlice }
      const records = this.snapshots.alone(() => [...this.environment.due.getRange(range)])
      const entries = records.map(({ key, value }) => ({ key, path: pathIn(value) }))
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
   * @param onUnreadable called for an entry whose topic cannot be read, which is left as it is
   * @returns how many topics were removed
   */
  async settle(entries: readonly Entry[], onUnreadable: (topic: UnreadableTopic) => void): Promise<number> {
    const { due } = this.environment
    const readable = this.#hasUnreadable
      ? this.snapshots.alone(() => this.#evaluateAll(entries, onUnreadable)).map(({ entry }) => entry)
      : entries
    if (readable.length === 0) return 0
    return this.commits.run((changes) => {
      changes.put()
      const found = this.#evaluateAll(readable, onUnreadable)
      return changes.write(() => {
        let removed = 0
        for (const { entry, evaluated } of found) {
          if (evaluated === undefined) void due.remove(entry.key)
          else if (this.#settleOne(evaluated, changes)) removed++
        }
        return removed
      })
    }, this.#sizeOf(readable))
  }

  /** Evaluates those that can be read; undefined for an entry that no topic owns. */
  #evaluateAll(
    entries: readonly Entry[],
    onUnreadable: (topic: UnreadableTopic) => void,
  ): { readonly entry: Entry; readonly evaluated: Evaluated | undefined }[] {
    const present = this.now()
    return entries.flatMap((entry) => {
      try {
        return [{ entry, evaluated: this.#evaluate(entry, present) }]
      } catch (error) {
        if (!(error instanceof UnreadableTopic)) throw error
        this.#hasUnreadable = true
        onUnreadable(error)
        return []
      }
    })
  }

  /** The entry as it is now; undefined if no topic owns it. @throws UnreadableTopic */
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
    const { path, stored, entryMs, isDue, clauseSelector } = evaluated
    if (isDue && clauseSelector === undefined) {
      changes.remove(path, stored)
      return true
    }
    const atMs = isDue ? clauseWaitsMs : evaluated.dueMs
    if (Math.floor(atMs) !== entryMs) this.#putDue(evaluated, stored, dueKey(atMs, this.environment.nextDueNumber()))
    return false
  }

  /** Replaces the entry by one with another key, or by none, within a transaction's callback. */
  #putDue({ key }: Entry, { path, type, details }: Owner, next: Buffer | undefined): void {
    const { specifications, due } = this.environment
    const record = encodeSpecification({ type, details: { ...details, due: next?.toString('hex') } })
    void specifications.put(path, record, recordVersion)
    void due.remove(key)
    if (next !== undefined) void due.put(next, Buffer.from(path))
  }

  /** What the topic is that owns the entry; undefined if none does. */
  #ownerOf({ key, path }: Entry): Owner | undefined {
    if (path === undefined) return undefined
    const stored = readSpecification(this.environment.specifications, path)
    if (stored?.details === undefined || stored.details.due !== key.toString('hex')) return undefined
    return { path, type: stored.type, details: stored.details }
  }

  /** Evaluates the entry by what is stored; undefined if no topic owns it. @throws UnreadableTopic */
  #evaluate({ key, path }: Entry, present: Moment): Evaluated | undefined {
    if (path === undefined) return undefined
    return readOf(path, () => {
      const stored = this.#ownerOf({ key, path })
      const policy = stored && removalOf(stored.details.properties)
      if (stored === undefined || policy === undefined) return undefined
      const update = tracksUpdates(policy) ? this.environment.updates.get(path) : undefined
      const atMs = dueMsOf(policy, stored.details.created, update, present)
      const isDue = atMs <= present.wallMs
      return { key, path, stored, entryMs: dueMsOfKey(key), dueMs: atMs, isDue, clauseSelector: policy.selector }
    })
  }

  /** A change of an entry writes the specification again. */
  #sizeOf(entries: readonly Entry[]): WriteSize {
    const { specifications } = this.environment
    const bytesOf = ({ path }: Entry): number =>
      path === undefined ? 0 : loggedBytesMax(path) + (specifications.getBinaryFast(path)?.length ?? 0)
    const bytes = this.snapshots.alone(() => entries.reduce((sum, entry) => sum + bytesOf(entry), 0))
    return { operations: entries.length, bytes, grows: false }
  }
}

/**
 * When the policy of a topic is due, in ms since the epoch.
 *
 * @param update the record of the topic's last update, if updates defer the policy
 * @throws Error when a time cannot be read
 */
export function dueMsOf(policy: RemovalPolicy, created: Moment, update: Buffer | undefined, present: Moment): number {
  const createdMs = wallMsOf(created, present)
  const updatedMs = update ? wallMsOf(JSON.parse(update.toString()) as Moment, present) : createdMs
  return storedDueMs(policy, createdMs, updatedMs)
}

/** The path in the value of an entry; undefined if it is none, so that no topic can own the entry. */
function pathIn(value: Buffer): Path | undefined {
  const text = value.toString()
  return parsePath(text) === text ? (text as Path) : undefined
}

/** The time in the key of an entry; undefined for one that is too short for any. */
function readDueMs(key: Buffer): number | undefined {
  try {
    return dueMsOfKey(key)
  } catch {
    return undefined
  }
}
