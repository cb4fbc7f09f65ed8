/**
 * Walking over everything in one snapshot: for export and for `check`. The snapshot is one transaction that reads, and the
 * engine keeps what is removed meanwhile until it ends.
 */

import type { Plan } from '../../selectors/plan.js'
import { decodeKey } from '../../topics/key.js'
import { parsePath } from '../../topics/path.js'
import { parseProperties, retainsValue } from '../../topics/properties.js'
import { everyTopic, type KeyRange, keyAfter, rangesFrom } from '../../topics/range.js'
import { type Properties, type TopicType, valueOfItem } from '../../topics/topic.js'
import { type Cancellation, Cancelled, type Finding, type KeyRecord, type WholeTopic } from '../store.js'
import { waitForSlice } from '../time-slices.js'
import { bytesOf } from './arrays.js'
import type { Connections, Snapshot } from './connections.js'
import { propertiesOf, typeNumbers, typeOfColumn } from './rows.js'
import type { Statement } from './statement.js'

interface TopicRow {
  readonly key: string
  readonly type: string
  readonly retains: string
  readonly created: string
  readonly updated: string
  readonly due: string | null
  readonly properties: string | null
  readonly item: string
}

/** As many rows as `$3`, and no more than make `$4` bytes and then one. */
const readRows: Statement<TopicRow> = {
  name: 'read_rows',
  text: `
    select key, type, retains, created, updated, due, properties, item
    from (
      select t.*, sum(octet_length(t.item)) over (order by t.key rows unbounded preceding) - octet_length(t.item) as bytes
      from (select * from topicd.topics where key >= $1::bytea and key < $2::bytea order by key limit $3::int) t
    ) w
    where bytes <= $4::bigint order by key`,
}

const readRecords: Statement<{ name: string; record: string }> = {
  name: 'read_named_keys',
  text: 'select name, record from topicd.api_keys',
}

const rowsMax = 500
const bytesMax = 8 * 1024 * 1024

/** The rows of the ranges, in order. */
async function* rowsOf({ read }: Snapshot, ranges: readonly KeyRange[]): AsyncGenerator<readonly TopicRow[]> {
  for (let left = ranges; left.length > 0; ) {
    const [{ start, end }] = left
    const rows = await read(readRows, [start, end, rowsMax, bytesMax])
    const last = rows.at(-1)
    left = last === undefined ? left.slice(1) : rangesFrom(left, keyAfter(bytesOf(last.key)))
    yield rows
    await waitForSlice()
  }
}

/** Every match of the plan, whole, in tree order. */
export async function* walk(
  connections: Connections,
  { ranges, matcher }: Plan,
  cancellation: Cancellation,
): AsyncGenerator<WholeTopic> {
  const snapshot = await connections.openSnapshot()
  try {
    for await (const rows of rowsOf(snapshot, ranges)) {
      if (cancellation.cancelled) throw new Cancelled()
      for (const row of rows) {
        const path = decodeKey(bytesOf(row.key))
        if (matcher !== undefined && matcher(path) !== true) continue
        const type = typeOfColumn(row.type)
        yield {
          path,
          type,
          properties: propertiesOf(row.properties),
          valueText: valueOfItem(Buffer.from(row.item), path, type),
        }
      }
    }
  } finally {
    await snapshot.close()
  }
}

/** Reports every broken invariant; answers how many records were looked at. */
export async function check(
  connections: Connections,
  report: (finding: Finding) => void,
): Promise<{ records: number }> {
  const snapshot = await connections.openSnapshot()
  let records = 0
  try {
    for await (const rows of rowsOf(snapshot, [
      { start: Buffer.alloc(0), end: Buffer.from([...everyTopic.end, 0xff]) },
    ])) {
      for (const row of rows) for (const problem of problemsOf(row)) report(problem)
      records += rows.length
    }
    const keys = await snapshot.read(readRecords, [])
    for (const { name, record } of keys) {
      if (nameIn(record) !== name) report(`API key "${name}": its record has another name`)
    }
    return { records: records + keys.length }
  } finally {
    await snapshot.close()
  }
}

function* problemsOf(row: TopicRow): Generator<Finding> {
  const path = decodeKey(bytesOf(row.key))
  if (parsePath(path) !== path) yield `topic "${path}": the key is no valid path`
  if (!Object.values(typeNumbers).includes(Number(row.type))) yield `topic "${path}": there is no type ${row.type}`
  const type = typeOfColumn(row.type)
  const itemWrong = itemProblem(path, type, row.item)
  if (itemWrong !== undefined) yield `item at "${path}": ${itemWrong}`
  let properties: Properties
  try {
    properties = propertiesOf(row.properties)
  } catch {
    return yield `topic "${path}": its properties are not valid JSON`
  }
  const checked = parseProperties(properties)
  if ('problem' in checked) return yield `topic "${path}": its property ${checked.name} ${checked.problem}`
  if (row.properties === '{}') yield `topic "${path}": it has properties, but none of them`
  if ((row.retains === 't') !== retainsValue(properties))
    yield `topic "${path}": whether it keeps values is not what its properties say`
  if (!retainsValue(properties) && valueOfItem(Buffer.from(row.item), path, type) !== undefined) {
    yield `topic "${path}": it keeps a value although DONT_RETAIN_VALUE is true`
  }
  const policy = checked.removal
  if (policy === undefined && row.due !== null) yield `topic "${path}": it is due, but has no REMOVAL`
  if (policy !== undefined && policy.selector === undefined && row.due === null)
    yield `topic "${path}": its REMOVAL is filed nowhere`
}

function itemProblem(path: string, type: TopicType, item: string): string | undefined {
  try {
    const parsed = JSON.parse(item) as Record<string, unknown>
    if (parsed.path !== path || parsed.type !== type) return 'its JSON is of another topic'
    if (type === 'string' && 'value' in parsed && typeof parsed.value !== 'string') return 'its value is not a string'
    const unknown = Object.keys(parsed).find((name) => name !== 'path' && name !== 'type' && name !== 'value')
    return unknown === undefined ? undefined : `it has an unknown member "${unknown}"`
  } catch {
    return 'it is not valid JSON'
  }
}

function nameIn(record: string): string | undefined {
  try {
    return (JSON.parse(record) as KeyRecord).name
  } catch {
    return undefined
  }
}
