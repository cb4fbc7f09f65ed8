/**
 * Topics whose REMOVAL policy may be due: the statements that find, remove and reschedule them, and the evaluation of
 * one. What is done with them, and in which order, is decided in expiry.ts.
 */
import { decodeKey } from '../../../topics/key.js'
import { removalOf } from '../../../topics/properties.js'
import { tracksUpdates } from '../../../topics/removal/policy.js'
import { clauseWaitsMs } from '../../core/write/due.js'
import { readOf, storedDueMs, UnreadableTopic } from '../../unreadable-topic.js'
import type { Connections } from '../connection/connections.js'
import { bytesArray, bytesOf, plainArray } from '../sql/arrays.js'
import { logged } from '../sql/logged-statement.js'
import { propertiesOf } from '../sql/rows.js'
import { type Execute, inTime, nextVersion, type Statement, sameKey, startMs } from '../sql/statement.js'

interface DueRow {
  readonly key: string
  readonly due: string
  readonly properties: string | null
  readonly created: string
  readonly updated: string
  readonly generation: string
  readonly now: string
}

/** The topics after a due time and a key whose `due` is `until` or earlier. */
function dueAfter(name: string, until: string): Statement<DueRow> {
  const text = `
    select key, due, properties, created, updated, generation, ${startMs} as now
    from topicd.topics where due <= ${until} and (due, key) > ($1::bigint, $2::bytea) order by due, key limit $3::int`
  return { name, text }
}

const readDue = dueAfter('read_due_after', startMs)
const readWaiting = dueAfter('read_waiting', String(clauseWaitsMs))

/** The time is not compared with `due` alone: all topics that are due might be searched for the key then. */
const readDueTopic: Statement<DueRow> = {
  name: 'read_due_topic',
  text: `
    select key, due, properties, created, updated, generation, ${startMs} as now
    from topicd.topics
    where key = $1::bytea and generation = $2::bigint and coalesce(due, ${Number.MAX_SAFE_INTEGER}) <= ${startMs}`,
}

/** A null for `updated` means that no update defers the policy. */
const removeDueTopics = logged<{ key: string }>('remove_due', {
  parameters: 4,
  text: `
    delete from topicd.topics t
    using unnest($1::bytea[], $2::bigint[], $3::bigint[]) as v (key, generation, updated)
    where ${sameKey} and t.generation = v.generation and (v.updated is null or t.updated = v.updated) and ${inTime(4)}
    returning t.key, ${nextVersion} as version`,
})

const rescheduleTopics: Statement<never> = {
  name: 'reschedule',
  text: `
    update topicd.topics t set due = v.due
    from unnest($1::bytea[], $2::bigint[], $3::bigint[]) as v (key, generation, due)
    where ${sameKey} and t.generation = v.generation and ${inTime(4)}`,
}

/** Topics per statement. */
const topicsMax = 500

/** A topic whose `due` has come, evaluated. */
export interface Evaluated {
  readonly key: Buffer
  readonly generation: string
  /** Undefined when updates do not defer the policy. */
  readonly updated: string | undefined
  readonly isDue: boolean
  /** When it is due; undefined for a topic without a policy, which is an error in the data. */
  readonly dueMs: number | undefined
  /** The selector of the policy's `remove` clause; undefined without one. */
  readonly clauseSelector: string | undefined
}

/** @throws UnreadableTopic */
function evaluate({ key: column, properties, created, updated, generation, now }: DueRow): Evaluated {
  const key = bytesOf(column)
  return readOf(decodeKey(key), () => {
    const policy = removalOf(propertiesOf(properties))
    const topic = { key, generation, clauseSelector: policy?.selector }
    if (policy === undefined) return { ...topic, updated: undefined, isDue: false, dueMs: undefined }
    const atMs = Math.floor(storedDueMs(policy, Number(created), Number(updated)))
    const tracked = tracksUpdates(policy) ? updated : undefined
    return { ...topic, updated: tracked, isDue: atMs <= Number(now), dueMs: atMs }
  })
}

type OnUnreadable = (topic: UnreadableTopic) => void

/**
 * Every topic whose `due` has come, evaluated, in batches; without those whose clauses wait.
 *
 * @param onUnreadable called for each topic that cannot be evaluated, which is left out
 */
export function dueTopics(read: Execute, onUnreadable: OnUnreadable): AsyncGenerator<Evaluated[]> {
  return batchesFrom(read, readDue, clauseWaitsMs + 1, onUnreadable)
}

/** The same for every topic whose clause waits. */
export function waitingTopics(read: Execute, onUnreadable: OnUnreadable): AsyncGenerator<Evaluated[]> {
  return batchesFrom(read, readWaiting, Number.MIN_SAFE_INTEGER, onUnreadable)
}

/** Evaluates one topic again; undefined when it no longer exists or was rescheduled. @throws UnreadableTopic */
export async function readDueAgain(read: Execute, { key, generation }: Evaluated): Promise<Evaluated | undefined> {
  const [row] = await read(readDueTopic, [key, generation])
  return row === undefined ? undefined : evaluate(row)
}

async function* batchesFrom(
  read: Execute,
  statement: Statement<DueRow>,
  fromMs: number,
  onUnreadable: OnUnreadable,
): AsyncGenerator<Evaluated[]> {
  let last: readonly [string, Buffer] = [String(fromMs), Buffer.alloc(0)]
  for (;;) {
    const rows = await read(statement, [...last, topicsMax])
    yield rows.flatMap((row) => {
      try {
        return [evaluate(row)]
      } catch (error) {
        if (!(error instanceof UnreadableTopic)) throw error
        onUnreadable(error)
        return []
      }
    })
    const row = rows.at(-1)
    if (row === undefined || rows.length < topicsMax) return
    last = [row.due, bytesOf(row.key)]
  }
}

/**
 * Removes these topics, which were found to be due, in the order of their keys, except any that was replaced or updated since; returns how many.
 */
export async function removeDue(
  writeLogged: Connections['writeLogged'],
  topics: readonly Evaluated[],
): Promise<number> {
  if (topics.length === 0) return 0
  const removed = await writeLogged(removeDueTopics, [
    bytesArray(topics.map(({ key }) => key)),
    plainArray(topics.map(({ generation }) => generation)),
    plainArray(topics.map(({ updated }) => updated)),
  ])
  return removed.length
}

/**
 * Stores when these topics are to be evaluated next, except any that was replaced; an undefined `dueMs` ends the
 * policy.
 */
export async function reschedule(
  write: Connections['write'],
  topics: readonly Pick<Evaluated, 'key' | 'generation' | 'dueMs'>[],
): Promise<void> {
  if (topics.length === 0) return
  await write(rescheduleTopics, [
    bytesArray(topics.map(({ key }) => key)),
    plainArray(topics.map(({ generation }) => generation)),
    plainArray(topics.map(({ dueMs }) => dueMs)),
  ])
}
