/**
 * Automatic removal: carrying out REMOVAL policies that are due, by the engine's clock, on the one process that holds the
 * lease. A topic's `due` is the earliest time at which its policy may be due; an update leaves it where it is, and when its
 * time comes the topic is looked at again, and filed anew if it is not due yet. So updates cost nothing here, and while
 * nothing is due one look at an index is all the work there is.
 *
 * A topic is removed under the condition that it is the same, and not updated since it was judged, so an update that comes
 * first always keeps it. A `remove` clause removes its matches first and ends the policy afterwards: a crash in between
 * repeats the removal. Such a policy is carried out once.
 */
import { planSelector } from '../../topics/planner.js'
import { removalOf } from '../../topics/properties.js'
import { dueMs, tracksUpdates } from '../../topics/removal.js'
import { type Cancellation, Cancelled, type DueRemovals } from '../store.js'
import { bytesArray, bytesOf, plainArray } from './arrays.js'
import type { Connections, Statement } from './connections.js'
import type { Lease } from './lease.js'
import { propertiesOf, startMs } from './rows.js'
import type { Writes } from './writes.js'

interface DueRow {
  readonly key: string
  readonly properties: string | null
  readonly created: string
  readonly updated: string
  readonly life: string
  readonly now: string
}

const readDue: Statement<DueRow> = {
  name: 'read_due',
  text: `
    select key, properties, created, updated, life, ${startMs} as now
    from topicd.topics where due <= ${startMs} order by due limit $1::int`,
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
    where t.key = v.key and t.life = v.life and (v.updated is null or t.updated = v.updated)
    returning t.key`,
}

/** A null for `due` ends the policy. */
const fileDue: Statement<never> = {
  name: 'file_due',
  text: `
    update topicd.topics t set due = v.due
    from unnest($1::bytea[], $2::bigint[], $3::bigint[]) as v (key, life, due)
    where t.key = v.key and t.life = v.life`,
}

/** Topics looked at in one step. */
const topicsMax = 500

/** A topic whose time may have come, with what its judgement rests on. */
interface Judged {
  readonly key: Buffer
  readonly life: string
  /** Undefined when updates do not matter. */
  readonly updated: string | undefined
  readonly due: boolean
  /** When it is due; undefined for a topic without a policy, which is a mistake of the data. */
  readonly dueMs: number | undefined
  readonly removes: string | undefined
}

export function createRemovals({ read, write }: Connections, lease: Lease, writes: Writes): () => Promise<DueRemovals> {
  async function file(entries: readonly { key: Buffer; life: string; dueMs: number | undefined }[]): Promise<void> {
    if (entries.length === 0) return
    await write(fileDue, [
      bytesArray(entries.map(({ key }) => key)),
      plainArray(entries.map(({ life }) => life)),
      plainArray(entries.map(({ dueMs }) => dueMs)),
    ])
  }

  async function remove(entries: readonly Judged[]): Promise<number> {
    if (entries.length === 0) return 0
    const removed = await write(removeDueTopics, [
      bytesArray(entries.map(({ key }) => key)),
      plainArray(entries.map(({ life }) => life)),
      plainArray(entries.map(({ updated }) => updated)),
    ])
    return removed.length
  }

  /** Removes what the clauses select, each to its end before its policy ends; whoever follows goes on where the lease was lost. */
  async function carryOutClauses(entries: readonly Judged[], held: () => boolean): Promise<number> {
    let removed = 0
    for (const { key, life, removes } of entries) {
      if (removes === undefined || !held()) continue
      const plan = planSelector(removes)
      try {
        if (!('problem' in plan)) removed += await writes.removeMatches(plan, untilLost(held))
      } catch (error) {
        if (error instanceof Cancelled) return removed
        throw error
      }
      await file([{ key, life, dueMs: undefined }])
    }
    return removed
  }

  return async () => {
    const removed = await lease.whileHeld(async (held) => {
      let count = 0
      for (let more = true; more && held(); ) {
        const judged = (await read(readDue, [topicsMax])).map(judge).sort((a, b) => Buffer.compare(a.key, b.key))
        const due = judged.filter((entry) => entry.due)
        count += await remove(due.filter(({ removes }) => removes === undefined))
        count += await carryOutClauses(due, held)
        await file(judged.filter((entry) => !entry.due))
        more = judged.length === topicsMax
      }
      return count
    })
    const [first] = await read(readNextDue, [])
    return { removed: removed ?? 0, nextMs: first?.next == null ? undefined : Number(first.next) }
  }
}

function untilLost(held: () => boolean): Cancellation {
  return {
    get cancelled() {
      return !held()
    },
  }
}

function judge({ key, properties, created, updated, life, now }: DueRow): Judged {
  const policy = removalOf(propertiesOf(properties))
  const entry = { key: bytesOf(key), life }
  if (policy === undefined) return { ...entry, updated: undefined, due: false, dueMs: undefined, removes: undefined }
  const atMs = Math.floor(dueMs(policy, Number(created), Number(updated)))
  const tracked = tracksUpdates(policy) ? updated : undefined
  return { ...entry, updated: tracked, due: atMs <= Number(now), dueMs: atMs, removes: policy.selector }
}
