/**
 * The entries in `due`: reading them, evaluating one on a single snapshot, and the changes that follow. A topic is
 * removed, or its entry moved, under the condition that neither its specification nor its last update has changed since
 * the evaluation, so an update that comes first always wins. What to do with an evaluated entry is decided in
 * expiry.ts.
 */
import type { Path } from '../../topics/path.js'
import { removalOf } from '../../topics/properties.js'
import { dueMs, tracksUpdates } from '../../topics/removal-policy.js'
import { type Clock, type Moment, wallMsOf } from '../clock.js'
import { waitForSlice } from '../time-slices.js'
import type { Commits } from './commits.js'
import { smallWrite, type WriteSize } from './disk-room.js'
import type { Environment } from './environment.js'
import type { Snapshots } from './fresh-snapshots.js'
import {
  type Details,
  dueKey,
  dueMsOfKey,
  encodeSpecification,
  propertiesBytes,
  readSpecification,
  type StoredSpecification,
} from './specification.js'

/** Entries examined between two turns of the event loop. */
const entriesPerSlice = 200

/** An entry of `due`: its key, and the path of its topic. */
export interface Entry {
  readonly key: Buffer
  readonly path: Path
}

/** An entry with what its evaluation found. */
interface Evaluated extends Entry {
  readonly stored: StoredSpecification & { readonly details: Details }
  /** Undefined when updates do not defer the policy. */
  readonly updateVersion: number | undefined
  readonly dueMs: number
  readonly isDue: boolean
  /** The selector of the policy's `remove` clause; undefined without one. */
  readonly clauseSelector: string | undefined
}

export class DueEntries {
  readonly #environment: Environment
  readonly #snapshots: Snapshots
  readonly #commits: Commits
  readonly #now: Clock

  constructor(environment: Environment, snapshots: Snapshots, commits: Commits, now: Clock) {
    this.#environment = environment
    this.#snapshots = snapshots
    this.#commits = commits
    this.#now = now
  }

  /** The time of the first entry, in ms since the epoch; undefined when there is none. */
  firstDueMs(): number | undefined {
    const range = { start: dueKey(0, 0), limit: 1 }
    const [first] = this.#snapshots.alone(() => [...this.#environment.due.getKeys(range)])
    return first && dueMsOfKey(first)
  }

  /**
   * The entries with times from `fromMs` to `untilMs`, both included, in batches; other work gets its turn in between.
   */
  async *between(fromMs: number, untilMs: number): AsyncGenerator<readonly Entry[]> {
    let start = dueKey(fromMs, 0)
    for (;;) {
      const range = { start, end: dueKey(untilMs + 1, 0), limit: entriesPerSlice }
      const records = this.#snapshots.alone(() => [...this.#environment.due.getRange(range)])
      const entries = records.map(({ key, value }) => ({ key, path: value.toString() as Path }))
      yield entries
      const last = entries.at(-1)
      if (last === undefined || entries.length < entriesPerSlice) return
      start = Buffer.concat([last.key, Buffer.from([0])])
      await waitForSlice()
    }
  }

  /**
   * Evaluates the entry at the present moment. An entry that no topic owns is removed; the result is undefined then.
   */
  async examine(entry: Entry): Promise<Evaluated | undefined> {
    const present = this.#now()
    const evaluated = this.#snapshots.alone(() => this.#evaluate(entry, present))
    if (evaluated === undefined) await this.#commits.run(true, () => this.#environment.due.remove(entry.key))
    return evaluated
  }

  /** Moves the entry to `atMs`. Returns false, with nothing changed, if the topic has changed. */
  reschedule(evaluated: Evaluated, atMs: number): Promise<boolean> {
    return this.#change(evaluated, () => this.#putDue(evaluated, dueKey(atMs, this.#environment.nextVersion())))
  }

  /** Ends the policy, even if the topic has been updated; not that of a topic created again at the path. */
  async endPolicy(evaluated: Evaluated): Promise<void> {
    const { path, stored } = evaluated
    const enqueue = (): Promise<boolean> =>
      this.#environment.specifications.ifVersion(path, stored.version, () => this.#putDue(evaluated, undefined))
    await this.#commits.run(true, enqueue, sizeOf(evaluated))
  }

  /** Removes the entry's topic, not its descendants. Returns false, with nothing changed, if the topic has changed. */
  removeTopic(evaluated: Evaluated): Promise<boolean> {
    const { key, path, stored } = evaluated
    const { specifications, items, updates, due } = this.#environment
    return this.#change(evaluated, () => {
      void specifications.remove(path)
      void items[stored.type].remove(path)
      void updates.remove(path)
      void due.remove(key)
    })
  }

  /** Replaces the entry by one with another key, or by none; for a block that is conditional on the specification. */
  #putDue({ key, path, stored }: Evaluated, next: Buffer | undefined): void {
    const { specifications, due, nextVersion } = this.#environment
    const details = { ...stored.details, due: next?.toString('hex') }
    void specifications.put(path, encodeSpecification({ type: stored.type, details }), nextVersion())
    void due.remove(key)
    if (next !== undefined) void due.put(next, Buffer.from(path))
  }

  /** Evaluates the entry in the current snapshot; undefined if no topic owns it. */
  #evaluate({ key, path }: Entry, present: Moment): Evaluated | undefined {
    const { specifications, updates } = this.#environment
    const stored = readSpecification(specifications, path)
    const details = stored?.details
    const policy = details && removalOf(details.properties)
    if (stored === undefined || details?.due !== key.toString('hex') || policy === undefined) return undefined
    const created = wallMsOf(details.created, present)
    const update = tracksUpdates(policy) ? updates.getEntry(path) : undefined
    const updated = update ? wallMsOf(JSON.parse(update.value.toString()) as Moment, present) : created
    const atMs = dueMs(policy, created, updated)
    return {
      key,
      path,
      stored: { ...stored, details },
      updateVersion: update?.version,
      dueMs: atMs,
      isDue: atMs <= present.wallMs,
      clauseSelector: policy.selector,
    }
  }

  /** Executes `write` if the entry's topic has not changed since its evaluation; returns whether it did. */
  async #change(evaluated: Evaluated, write: () => void): Promise<boolean> {
    const { path, stored, updateVersion } = evaluated
    const { specifications, updates } = this.#environment
    const ifSame = (): Promise<boolean> => specifications.ifVersion(path, stored.version, write)
    const enqueue = async (): Promise<boolean> => {
      if (updateVersion === undefined) return ifSame()
      let inner: Promise<boolean> | undefined
      const outer = updates.ifVersion(path, updateVersion, () => {
        inner = ifSame()
        // When the commit fails, the outer promise reports it.
        inner.catch(() => {})
      })
      return (await outer) && (await inner) === true
    }
    return (await this.#commits.run(true, enqueue, sizeOf(evaluated))) === true
  }
}

/** A change of an entry writes the specification again. */
function sizeOf({ stored }: Evaluated): WriteSize {
  return { ...smallWrite, bytes: propertiesBytes(stored.details.properties) }
}
