/**
 * Walking over everything in one consistent cut: for export and for `check`. A cut holds its snapshot as long as it takes,
 * and pages freed meanwhile are not used again, so the file may grow; a process that serves requests should not do this.
 */
import type { Transaction } from 'lmdb'
import { parsePath, type Path } from '../../topics/path.js'
import type { Plan } from '../../topics/plan.js'
import { removalOf, retainsValue } from '../../topics/properties.js'
import { tracksUpdates } from '../../topics/removal.js'
import { topicTypes, type TopicType, valueOfItem } from '../../topics/topic.js'
import { nextSlice, sliceMs } from '../slices.js'
import type { Finding, WholeTopic } from '../store.js'
import { type Environment, plainVersion, propertiedVersion, type StoredKey, type Tree } from './environment.js'
import { decodeSpecification, type Specification } from './specification.js'

interface CutOptions {
  readonly transaction: Transaction
}

/** lmdb reads `get`'s transaction option although its types do not show it for every method. */
function getIn(tree: Tree, key: StoredKey, cut: CutOptions): Buffer | undefined {
  return tree.get(key, cut)
}

/** Entries visited between two looks at the clock. */
const entriesPerLook = 32

/** Calls `visit` for every entry of the tree in the cut, with turns for others in between; answers how many. */
async function visitAll(
  tree: Tree,
  cut: CutOptions,
  visit: (path: Path, value: Buffer, version: number) => void,
): Promise<number> {
  let count = 0
  let deadline = performance.now() + sliceMs
  for (const { key, value, version } of tree.getRange({ ...cut, versions: true, start: Buffer.from([0]) })) {
    visit(key as Path, value, version ?? 0)
    count++
    if (performance.now() > deadline) {
      await nextSlice()
      deadline = performance.now() + sliceMs
    }
  }
  return count
}

/** Every match of the plan, whole, in tree order; with turns for others in between while nothing matches. */
export async function* walk({ specifications, items }: Environment, plan: Plan): AsyncGenerator<WholeTopic> {
  specifications.resetReadTxn()
  const transaction = specifications.useReadTransaction()
  const cut = { transaction }
  let visited = 0
  let deadline = performance.now() + sliceMs
  try {
    for (const range of plan.ranges) {
      let start: Buffer | undefined = range.start
      while (start !== undefined) {
        const options = { ...cut, start, end: range.end }
        start = undefined
        for (const { key, value } of specifications.getRange(options)) {
          const path = key as Path
          if (++visited % entriesPerLook === 0 && performance.now() > deadline) {
            await nextSlice()
            deadline = performance.now() + sliceMs
          }
          const verdict = plan.matcher === undefined || plan.matcher(path)
          if (verdict === true) {
            const { type, details } = decodeSpecification(value)
            const item = getIn(items[type], path, cut)
            const valueText = item && valueOfItem(item, path, type)
            yield { path, type, properties: details?.properties ?? {}, valueText }
          } else if (verdict !== false) {
            start = verdict
            break
          }
        }
      }
    }
  } finally {
    transaction.done()
  }
}

/** Reports every broken invariant; answers how many records were looked at. */
export async function check(
  environment: Environment,
  report: (finding: Finding) => void,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<{ records: number }> {
  const { specifications, items, updates, due, keys } = environment
  specifications.resetReadTxn()
  const transaction = specifications.useReadTransaction()
  const cut = { transaction }
  const records: Record<TopicType, number> = { json: 0, string: 0 }
  let dueExpected = 0
  let updatesExpected = 0
  let seen = 0
  const total = 2 * (specifications.getStats() as { entryCount: number }).entryCount

  function checkTopic(path: Path, { type, details }: Specification): void {
    onProgress(++seen, total)
    records[type]++
    if (parsePath(path) !== path) report(`specification of "${path}": the key is no valid path`)
    const item = getIn(items[type], path, cut)
    if (item === undefined) report(`topic "${path}": it has a specification of type ${type} but no item`)
    if (details === undefined) return
    const policy = removalOf(details.properties)
    if (policy !== undefined && tracksUpdates(policy)) {
      updatesExpected++
      if (getIn(updates, path, cut) === undefined) report(`topic "${path}": the time of its last update is missing`)
    }
    if (details.due !== undefined) {
      dueExpected++
      const entry = due.get(Buffer.from(details.due, 'hex'), cut)
      if (entry?.toString() !== path) report(`topic "${path}": its entry among the due is missing`)
    }
    if (!retainsValue(details.properties) && item && valueOfItem(item, path, type) !== undefined) {
      report(`topic "${path}": it keeps a value although DONT_RETAIN_VALUE is true`)
    }
  }

  function checkItem(path: Path, type: TopicType, item: Buffer, version: number): void {
    onProgress(++seen, total)
    const record = getIn(specifications, path, cut)
    const specification = record && decodeSpecification(record)
    if (specification?.type !== type) report(`item of type ${type} at "${path}": there is no such specification`)
    const expected = specification?.details === undefined ? plainVersion : propertiedVersion
    if (version !== expected) report(`item at "${path}": its version is ${version}, not ${expected}`)
    const problem = itemProblem(path, type, item)
    if (problem !== undefined) report(`item at "${path}": ${problem}`)
  }

  try {
    let count = await visitAll(specifications, cut, (path, record) => checkTopic(path, decodeSpecification(record)))
    for (const type of topicTypes) {
      const found = await visitAll(items[type], cut, (path, item, version) => checkItem(path, type, item, version))
      if (found !== records[type]) report(`there are ${found} items of type ${type} but ${records[type]} specifications`)
      count += found
    }
    const updatesFound = await visitAll(updates, cut, () => {})
    if (updatesFound !== updatesExpected) report(`there are ${updatesFound} update times but ${updatesExpected} are needed`)
    const dueFound = due.getKeysCount({ ...cut })
    if (dueFound !== dueExpected) report(`there are ${dueFound} entries among the due but ${dueExpected} are owned by a topic`)
    let keyCount = 0
    for (const { key, value } of keys.getRange({ ...cut })) {
      keyCount++
      if ((JSON.parse(value.toString()) as { name?: string }).name !== key) report(`API key "${key}": its record has another name`)
    }
    return { records: count + updatesFound + dueFound + keyCount }
  } finally {
    transaction.done()
  }
}

function itemProblem(path: Path, type: TopicType, item: Buffer): string | undefined {
  try {
    const parsed = JSON.parse(item.toString()) as Record<string, unknown>
    if (parsed.path !== path || parsed.type !== type) return 'its JSON is of another topic'
    if (type === 'string' && 'value' in parsed && typeof parsed.value !== 'string') return 'its value is not a string'
    const unknown = Object.keys(parsed).find((name) => name !== 'path' && name !== 'type' && name !== 'value')
    return unknown === undefined ? undefined : `it has an unknown member "${unknown}"`
  } catch {
    return 'it is not valid JSON'
  }
}
