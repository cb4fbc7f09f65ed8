/**
 * Automatic removal: carrying out REMOVAL policies that are due, by the engine's clock, on the one process that holds the
 * lease. A topic's `due` is the earliest time at which its policy may be due; an update leaves it where it is, and when its
 * time comes the topic is looked at again, and filed anew if it is not due yet. So updates cost nothing here, and while
 * nothing is due one look at an index is all the work there is.
 *
 * A topic is removed under the condition that it is the same, and not updated since it was judged, so an update that comes
 * first always keeps it. A topic whose policy has a `remove` clause is only filed ahead of all times, where it waits for
 * its turn (store/remove-clauses.ts), and is judged once more when that comes. Its clause removes the matches first and ends the policy
 * afterwards: a crash in between repeats the removal. Such a policy is carried out once.
 */
import type { Plan } from '../../selectors/plan.js'
import { planSelector } from '../../selectors/planner.js'
import { removalOf } from '../../topics/properties.js'
import { dueMs, tracksUpdates } from '../../topics/removal-policy.js'
import { clauseWaitsMs, createClauses } from '../remove-clauses.js'
import { type Cancellation, Cancelled, type DueRemovals } from '../store.js'
import { bytesArray, bytesOf, plainArray } from './arrays.js'
import type { Connections } from './connections.js'
import { isHeldBy, type Lease } from './lease.js'
import { propertiesOf } from './rows.js'
import { matchingTopics } from './scan.js'
import { type Execute, inTime, type Statement, startMs } from './statement.js'

interface DueRow {
  readonly key: string
  readonly due: string
  readonly properties: string | null
  readonly created: string
  readonly updated: string
  readonly life: string
  readonly now: string
}

/** What is due after a due time and a key, up to a time. */
function dueAfter(name: string, until: string): Statement<DueRow> {
  const text = `
    select key, due, properties, created, updated, life, ${startMs} as now
    from topicd.topics where due <= ${until} and (due, key) > ($1::bigint, $2::bytea) order by due, key limit $3::int`
  return { name, text }
}

const readDue = dueAfter('read_due_after', startMs)
const readWaiting = dueAfter('read_waiting', String(clauseWaitsMs))

const readDueTopic: Statement<DueRow> = {
  name: 'read_due_topic',
  text: `
    select key, due, properties, created, updated, life, ${startMs} as now
    from topicd.topics where key = $1::bytea and life = $2::bigint and due <= ${startMs}`,
}

const readNextDue: Statement<{ next: string | null }> = {
  name: 'read_next_due',
  text: 'select min(due) as next from topicd.topics where due is not null',
}

/** A null for `updated` is a policy that no update can put off. */
const removeDueTopics: Statement<{ key: string }> = {
  name: 'remove_due',
  text: `
    delete from topicd.topics t
    using unnest($1::bytea[], $2::bigint[], $3::bigint[]) as v (key, life, updated)
    where t.key = v.key and t.life = v.life and (v.updated is null or t.updated = v.updated) and ${inTime(4)}
    returning t.key`,
}

/**
 * What a clause removes: the topics that it met, and only while the lease is this process's. A statement that is held back on its way
 * must not remove what was created after another process had carried out the clause.
 */
const removeForClause: Statement<{ held: string; removed: string }> = {
  name: 'remove_for_clause',
  text: `
    with lease as materialized (select ${isHeldBy(3)} as held), removed as (
      delete from topicd.topics t
      using unnest($1::bytea[], $2::bigint[]) as v (key, life)
      where t.key = v.key and t.life = v.life and (select held from lease) and ${inTime(4)}
      returning 1
    )
    select held::text, (select count(*) from removed) as removed from lease`,
}

/** Ends a policy whose clause was carried out, while the lease is this process's: else another one may be at it. */
const endPolicy: Statement<{ key: string }> = {
  name: 'end_policy',
  text: `
    update topicd.topics set due = null
    where key = $1::bytea and life = $2::bigint and ${isHeldBy(3)} and ${inTime(4)} returning key`,
}

const fileDue: Statement<never> = {
  name: 'file_due',
  text: `
    update topicd.topics t set due = v.due
    from unnest($1::bytea[], $2::bigint[], $3::bigint[]) as v (key, life, due)
    where t.key = v.key and t.life = v.life and ${inTime(4)}`,
}

/** Topics looked at in one step. */
const topicsMax = 500

/** A topic whose time may have come, with what its judgement rests on. */
interface Evaluated {
  readonly key: Buffer
  readonly life: string
  /** Undefined when updates do not matter. */
  readonly updated: string | undefined
  readonly due: boolean
  /** When it is due; undefined for a topic without a policy, which is a mistake of the data. */
  readonly dueMs: number | undefined
  readonly removes: string | undefined
}

export interface Expiry {
  /** Resolves once every topic that is due by itself is gone; what clauses removed is counted when it is done. */
  removeDue(): Promise<DueRemovals>
  /** Stops the clause that is being carried out at its next step, and resolves once it has. */
  close(): Promise<void>
}

/** @param scan for the statements of scans */
export function createExpiry({ read, write }: Connections, scan: Execute, lease: Lease): Expiry {
  const clauses = createClauses(waitingClauses, executeClause)
  let unreported = 0

  async function reschedule(
    entries: readonly { key: Buffer; life: string; dueMs: number | undefined }[],
  ): Promise<void> {
    if (entries.length === 0) return
    await write(fileDue, [
      bytesArray(entries.map(({ key }) => key)),
      plainArray(entries.map(({ life }) => life)),
      plainArray(entries.map(({ dueMs }) => dueMs)),
    ])
  }

  async function remove(entries: readonly Evaluated[]): Promise<number> {
    if (entries.length === 0) return 0
    const removed = await write(removeDueTopics, [
      bytesArray(entries.map(({ key }) => key)),
      plainArray(entries.map(({ life }) => life)),
      plainArray(entries.map(({ updated }) => updated)),
    ])
    return removed.length
  }

  async function removeForPolicy(plan: Plan, cancellation: Cancellation): Promise<number> {
    let removed = 0
    for await (const topics of matchingTopics(scan, plan, cancellation)) {
      if (topics.length === 0) continue
      const keys = bytesArray(topics.map(({ key }) => key))
      const [row] = await write(removeForClause, [keys, plainArray(topics.map(({ life }) => life)), lease.holder])
      if (row.held !== 'true') throw new Cancelled()
      removed += Number(row.removed)
    }
    return removed
  }

  /** The rows of a statement from a due time on, in steps. */
  async function* rowsFrom(statement: Statement<DueRow>, fromMs: number): AsyncGenerator<readonly DueRow[]> {
    let last: readonly [string, Buffer] = [String(fromMs), Buffer.alloc(0)]
    for (;;) {
      const rows = await read(statement, [...last, topicsMax])
      yield rows
      if (rows.length < topicsMax) return
      last = [rows[topicsMax - 1].due, bytesOf(rows[topicsMax - 1].key)]
    }
  }

  async function* waitingClauses(): AsyncGenerator<Evaluated> {
    for await (const rows of rowsFrom(readWaiting, clauseWaitsMs)) yield* rows.map(evaluate)
  }

  /** Its topic may have been updated, and the lease lost, while the clause waited for its turn. */
  async function executeClause({ key, life }: Evaluated, cancellation: Cancellation): Promise<number> {
    const removed = await lease.whileHeld(async (held) => {
      const [row] = await read(readDueTopic, [key, life])
      if (row === undefined) return 0
      const entry = evaluate(row)
      if (!entry.due || entry.removes === undefined) {
        await reschedule([entry])
        return 0
      }
      const plan = planSelector(entry.removes)
      const count = 'problem' in plan ? 0 : await removeForPolicy(plan, either(cancellation, held))
      // One that was carried out whole ends, cancelled or not; without the lease another process may be at it.
      if (!held()) throw new Cancelled()
      await write(endPolicy, [key, life, lease.holder])
      return count
    })
    if (removed === undefined) throw new Cancelled()
    return removed
  }

  /** Looks at every topic whose time may have come; answers how many were removed. */
  async function lookAtAll(held: () => boolean): Promise<number> {
    let removed = 0
    for await (const rows of rowsFrom(readDue, clauseWaitsMs + 1)) {
      const entries = rows.map(evaluate).sort((a, b) => Buffer.compare(a.key, b.key))
      removed += await remove(entries.filter(({ due, removes }) => due && removes === undefined))
      const left = entries.filter(({ due, removes }) => !due || removes !== undefined)
      await reschedule(left.map((entry) => (entry.due ? { ...entry, dueMs: clauseWaitsMs } : entry)))
      if (!held()) break
    }
    return removed
  }

  return {
    async removeDue() {
      const looked = await lease.whileHeld(lookAtAll)
      unreported += looked ?? 0
      const [first] = await read(readNextDue, [])
      const nextMs = first?.next == null ? undefined : Number(first.next)
      if (looked !== undefined && nextMs === clauseWaitsMs) clauses.start()
      unreported += clauses.takeRemoved()
      const removed = unreported
      unreported = 0
      return { removed, nextMs }
    },
    close: () => clauses.close(),
  }
}

function either(cancellation: Cancellation, held: () => boolean): Cancellation {
  return {
    get cancelled() {
      return cancellation.cancelled || !held()
    },
  }
}

function evaluate({ key, properties, created, updated, life, now }: DueRow): Evaluated {
  const policy = removalOf(propertiesOf(properties))
  const entry = { key: bytesOf(key), life }
  if (policy === undefined) return { ...entry, updated: undefined, due: false, dueMs: undefined, removes: undefined }
  const atMs = Math.floor(dueMs(policy, Number(created), Number(updated)))
  const tracked = tracksUpdates(policy) ? updated : undefined
  return { ...entry, updated: tracked, due: atMs <= Number(now), dueMs: atMs, removes: policy.selector }
}
