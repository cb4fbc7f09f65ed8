/**
 * Automatic removal: carrying out REMOVAL policies that are due. Entries in `due` sort by the time at which their topic
 * is due if no further update comes; an update leaves the entry where it is, and when its time comes the entry is looked
 * at again and moved if the topic is not due yet. So updates cost nothing here, and while nothing is due one look at the
 * first entry is all the work there is.
 *
 * A topic is removed under the condition that neither its specification nor its last update has changed since it was
 * judged, so an update that comes first always keeps it. The entry of a policy with a `remove` clause is only moved ahead
 * of all times, where it waits for its turn (store/remove-clauses.ts), and is judged once more when that comes. Its clause removes the
 * matches first and ends the policy afterwards: a crash in between repeats the removal. Such a policy is carried out once.
 *
 * When the wall clock is seen to have stepped against the monotonic one, every entry is judged anew.
 */

import { planSelector } from '../../selectors/planner.js'
import type { Path } from '../../topics/path.js'
import { removalOf } from '../../topics/properties.js'
import { dueMs, tracksUpdates } from '../../topics/removal-policy.js'
import { type Clock, type Moment, wallMsOf } from '../clock.js'
import { clauseWaitsMs, createClauses } from '../remove-clauses.js'
import type { Cancellation, DueRemovals } from '../store.js'
import { waitForSlice } from '../time-slices.js'
import type { Commits } from './commits.js'
import type { Environment } from './environment.js'
import type { Snapshots } from './fresh-snapshots.js'
import {
  type Details,
  dueKey,
  dueMsOfKey,
  encodeSpecification,
  readSpecification,
  type StoredSpecification,
} from './specification.js'
import type { Writes } from './writes.js'

/** Entries looked at between two turns of the event loop. */
const entriesPerSlice = 200

/** A wall clock that moved by more than this against the monotonic one has stepped; less is ordinary slewing. */
const stepMs = 1000

interface Entry {
  readonly key: Buffer
  readonly path: Path
}

/** An entry with everything that its judgement rests on. */
interface Evaluated extends Entry {
  readonly stored: StoredSpecification & { readonly details: Details }
  readonly updateVersion: number | undefined
  readonly dueMs: number
  readonly isDue: boolean
  readonly removes: string | undefined
}

export interface Expiry {
  /** Resolves once every topic that is due by itself is gone; what clauses removed is counted when it is done. */
  removeDue(): Promise<DueRemovals>
  /** Stops what is going on at its next step, and resolves once it has. */
  close(): Promise<void>
}

export function createExpiry(
  environment: Environment,
  snapshots: Snapshots,
  commits: Commits,
  writes: Writes,
  now: Clock,
): Expiry {
  const { specifications, items, updates, due, meta, nextVersion } = environment
  const clauses = createClauses(waitingClauses, executeClause)
  const looks = new Set<Promise<void>>()
  let unreported = 0
  let closed = false

  /** The entry's judgement at `present`; undefined for an entry that no topic owns. */
  function evaluate({ key, path }: Entry, present: Moment): Evaluated | undefined {
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
      removes: policy.selector,
    }
  }

  /** The entry's judgement as things are now; one that no topic owns is removed. */
  async function examine(entry: Entry): Promise<Evaluated | undefined> {
    const present = now()
    const evaluated = snapshots.alone(() => evaluate(entry, present))
    if (evaluated === undefined) await commits.run(true, () => due.remove(entry.key))
    return evaluated
  }

  /** The entries whose time lies in this range, both ends included, in slices. */
  async function* entriesBetween(fromMs: number, untilMs: number): AsyncGenerator<readonly Entry[]> {
    let start = dueKey(fromMs, 0)
    for (;;) {
      const range = { start, end: dueKey(untilMs + 1, 0), limit: entriesPerSlice }
      const found = snapshots.alone(() => [...due.getRange(range)])
      const entries = found.map(({ key, value }) => ({ key, path: value.toString() as Path }))
      yield entries
      if (entries.length < entriesPerSlice) return
      start = Buffer.concat([entries[entries.length - 1].key, Buffer.from([0])])
      await waitForSlice()
    }
  }

  /** Whether the entry's topic is still as it was judged, and the change under that condition was made. */
  function change({ path, stored, updateVersion }: Evaluated, write: () => void): Promise<boolean> {
    const ifSame = (): Promise<boolean> => specifications.ifVersion(path, stored.version, write)
    const changed = commits.run(true, async () => {
      if (updateVersion === undefined) return ifSame()
      let inner: Promise<boolean> | undefined
      const outer = updates.ifVersion(path, updateVersion, () => {
        inner = ifSame()
        // When the commit fails the outer one says so.
        inner.catch(() => {})
      })
      return (await outer) && (await inner) === true
    })
    return changed.then((done) => done === true)
  }

  /** Puts the entry where the topic is due now; undefined ends the policy. */
  function reschedule(evaluated: Evaluated, atMs: number | undefined): Promise<boolean> {
    const { key, path, stored } = evaluated
    return change(evaluated, () => {
      const next = atMs === undefined ? undefined : dueKey(atMs, nextVersion())
      const details = { ...stored.details, due: next?.toString('hex') }
      void specifications.put(path, encodeSpecification({ type: stored.type, details }), nextVersion())
      void due.remove(key)
      if (next !== undefined) void due.put(next, Buffer.from(path))
    })
  }

  async function removeTopic(evaluated: Evaluated): Promise<number> {
    const { key, path, stored } = evaluated
    const removed = await change(evaluated, () => {
      void specifications.remove(path)
      void items[stored.type].remove(path)
      void updates.remove(path)
      void due.remove(key)
    })
    return removed ? 1 : 0
  }

  async function* waitingClauses(): AsyncGenerator<Entry> {
    for await (const entries of entriesBetween(clauseWaitsMs, clauseWaitsMs)) yield* entries
  }

  /** Its topic may have been updated while the clause waited. One that was carried out whole ends, cancelled or not. */
  async function executeClause(entry: Entry, cancellation: Cancellation): Promise<number> {
    const evaluated = await examine(entry)
    if (evaluated === undefined) return 0
    if (!evaluated.isDue || evaluated.removes === undefined) {
      await reschedule(evaluated, evaluated.dueMs)
      return 0
    }
    const plan = planSelector(evaluated.removes)
    const removed = 'problem' in plan ? 0 : await writes.removeMatches(plan, cancellation)
    await reschedule(evaluated, undefined)
    return removed
  }

  async function settle(entry: Entry): Promise<number> {
    const evaluated = await examine(entry)
    if (evaluated === undefined) return 0
    if (evaluated.isDue && evaluated.removes === undefined) return removeTopic(evaluated)
    const atMs = evaluated.isDue ? clauseWaitsMs : evaluated.dueMs
    if (Math.floor(atMs) !== dueMsOfKey(entry.key)) await reschedule(evaluated, atMs)
    return 0
  }

  /** Looks at every entry whose time is at most `untilMs`. */
  async function lookAtAll(untilMs: number): Promise<number> {
    let removed = 0
    for await (const entries of entriesBetween(clauseWaitsMs + 1, untilMs)) {
      const counts = await Promise.all(entries.map(settle))
      for (const count of counts) removed += count
      if (closed) break
    }
    return removed
  }

  /** Whether the wall clock stepped since the last look of any process of this boot. */
  async function stepped(present: Moment): Promise<boolean> {
    const offset = present.wallMs - present.steadyMs
    const record = snapshots.alone(() => meta.get('clock'))
    const known = record && (JSON.parse(record.toString()) as { offset: number; boot: string })
    if (known?.boot === present.boot && Math.abs(known.offset - offset) <= stepMs) return false
    await commits.run(true, () => meta.put('clock', Buffer.from(JSON.stringify({ offset, boot: present.boot }))))
    return known?.boot === present.boot
  }

  async function removeDue(): Promise<DueRemovals> {
    const present = now()
    unreported += await lookAtAll((await stepped(present)) ? Number.MAX_SAFE_INTEGER : present.wallMs)
    const [first] = closed ? [] : snapshots.alone(() => [...due.getKeys({ start: dueKey(0, 0), limit: 1 })])
    const nextMs = first && dueMsOfKey(first)
    if (nextMs === clauseWaitsMs) clauses.start()
    unreported += clauses.takeRemoved()
    const removed = unreported
    unreported = 0
    return { removed, nextMs }
  }

  return {
    removeDue() {
      const looking = removeDue().catch((error: unknown) => {
        if (closed) return { removed: 0, nextMs: undefined }
        throw error
      })
      const ended = looking.then(
        () => {},
        () => {},
      )
      looks.add(ended)
      void ended.then(() => looks.delete(ended))
      return looking
    },
    async close() {
      closed = true
      await Promise.all([clauses.close(), ...looks])
    },
  }
}
