/**
 * Looks for every broken invariant of topics, the log and API keys, in one snapshot; changes nothing.
 */

import { type Cancellation, Cancelled } from '../../base/cancellation.js'
import { decodeKey } from '../../topics/key.js'
import { parsePath } from '../../topics/path.js'
import { retainsValue } from '../../topics/properties.js'
import { everyTopic } from '../../topics/range.js'
import { valueOfItem } from '../../topics/topic.js'
import { checkProperties, clauseProblem, itemProblem, keyRecordProblem, timesProblem } from '../core/check/rules.js'
import type { PlanOf } from '../due-removals.js'
import type { Finding } from '../maintenance.js'
import { storedDueMs } from '../unreadable-topic.js'
import { LogCheck } from './check-log.js'
import type { Connections } from './connection/connections.js'
import { rowsOf, type TopicRow } from './read/walk.js'
import { bytesOf } from './sql/arrays.js'
import { propertiesOf, typeNumbers, typeOfColumn } from './sql/rows.js'
import type { Statement } from './sql/statement.js'

const readRecords: Statement<{ name: string; record: string }> = {
  name: 'read_named_keys',
  text: 'select name, record from topicd.api_keys',
}

/** Wider than every valid key, so that invalid ones are found too. */
const everyKey = { start: Buffer.alloc(0), end: Buffer.from([...everyTopic.end, 0xff]) }

/** Reports every broken invariant; returns how many topics and API keys were examined. @throws Cancelled */
export async function check(
  connections: Pick<Connections, 'openSnapshot'>,
  report: (finding: Finding) => void,
  planOf: PlanOf,
  cancellation?: Cancellation,
): Promise<{ records: number }> {
  const snapshot = await connections.openSnapshot()
  let records = 0
  try {
    const log = new LogCheck(snapshot, report)
    await log.checkLanes()
    for await (const rows of rowsOf(snapshot, [everyKey])) {
      if (cancellation?.aborted === true) throw new Cancelled()
      for (const row of rows) {
        for (const finding of findingsOf(row, planOf)) report(finding)
        await log.checkTopic(row.key, row.version)
      }
      records += rows.length
    }
    await log.compareTopics()
    const keys = await snapshot.read(readRecords, [])
    for (const { name, record } of keys) {
      const problem = keyRecordProblem(name, record)
      if (problem !== undefined) report(`API key "${name}": ${problem}`)
    }
    return { records: records + keys.length }
  } finally {
    await snapshot.close()
  }
}

function* findingsOf(row: TopicRow, planOf: PlanOf): Generator<Finding> {
  const path = decodeKey(bytesOf(row.key))
  if (parsePath(path) !== path) yield `topic "${path}": the key is not a valid path`
  if (!Object.values(typeNumbers).includes(Number(row.type))) yield `topic "${path}": there is no type ${row.type}`
  const type = typeOfColumn(row.type)
  const problem = itemProblem(path, type, row.item)
  if (problem !== undefined) yield `item at "${path}": ${problem}`
  const checked = checkProperties(() => propertiesOf(row.properties))
  if (typeof checked === 'string') return yield `topic "${path}": ${checked}`
  const { properties } = checked
  if (row.properties === '{}') yield `topic "${path}": its properties are stored as {}, not as null`
  if ((row.retains === 't') !== retainsValue(properties))
    yield `topic "${path}": its column "retains" does not match its properties`
  if (!retainsValue(properties) && valueOfItem(Buffer.from(row.item), path, type) !== undefined) {
    yield `topic "${path}": it has a value although DONT_RETAIN_VALUE is true`
  }
  const policy = checked.removal
  const wrong = policy && timesProblem(() => storedDueMs(policy, Number(row.created), Number(row.updated)))
  if (wrong !== undefined) yield `topic "${path}": ${wrong}`
  const refused = policy && clauseProblem(policy, planOf)
  if (refused !== undefined) yield `topic "${path}": ${refused}`
  if (policy === undefined && row.due !== null) yield `topic "${path}": it has a due time but no REMOVAL`
  // A policy with a clause has no due time once it was executed.
  if (policy !== undefined && policy.selector === undefined && row.due === null)
    yield `topic "${path}": it has a REMOVAL but no due time`
}
