/**
 * Looking for every broken invariant, in one consistent cut: `check`, and a backup's check of its copy. A cut holds its
 * snapshot as long as it takes, and pages freed meanwhile are not used again, so the file may grow; a process that serves
 * requests should not do this.
 */
import { type Path, parsePath } from '../../topics/path.js'
import { removalOf, retainsValue } from '../../topics/properties.js'
import { tracksUpdates } from '../../topics/removal-policy.js'
import { type TopicType, topicTypes, valueOfItem } from '../../topics/topic.js'
import { Cancelled, type Finding } from '../store.js'
import { sliceMs, waitForSlice } from '../time-slices.js'
import { type Environment, plainVersion, propertiedVersion, type Table, type Tree } from './environment.js'
import { createOrder, type Entries, getIn, openSnapshot, type Snapshot } from './snapshot.js'
import { decodeSpecification, type Specification } from './specification.js'

type Report = (finding: Finding) => void

/** Misplaced keys after which a walk ends: a damaged page can lead one around in circles. */
const misplacedMax = 1000

/** Reports every broken invariant; answers how many records were looked at. */
export async function check(
  environment: Environment,
  report: Report,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<{ records: number }> {
  const { cut, entries } = openSnapshot(environment)
  let seen = 0
  const total = 2 * entries.specifications
  try {
    return { records: await checkCut(environment, cut, entries, report, () => onProgress(++seen, total)) }
  } catch (error) {
    if (error instanceof Cancelled) throw error
    report(`a page is damaged, so that the rest was not looked at: ${(error as Error).message}`)
    return { records: seen }
  } finally {
    cut.transaction.done()
  }
}

async function checkCut(
  { specifications, items, updates, due, keys, keyUses }: Environment,
  cut: Snapshot,
  entries: Entries,
  report: Report,
  onRecord: () => void,
): Promise<number> {
  const expected = { json: 0, string: 0, updates: 0, due: 0 }

  function checkTopic(path: Path, record: Buffer): void {
    onRecord()
    const specification = readable(record)
    if (specification === undefined) return report(`specification of "${path}": it cannot be read`)
    const { type, details } = specification
    expected[type]++
    if (parsePath(path) !== path) report(`specification of "${path}": the key is no valid path`)
    const item = getIn(items[type], path, cut)
    if (item === undefined) report(`topic "${path}": it has a specification of type ${type} but no item`)
    if (details === undefined) return
    const policy = removalOf(details.properties)
    if (policy !== undefined && tracksUpdates(policy)) {
      expected.updates++
      if (getIn(updates, path, cut) === undefined) report(`topic "${path}": the time of its last update is missing`)
    }
    if (details.due !== undefined) {
      expected.due++
      const entry = due.get(Buffer.from(details.due, 'hex'), cut)
      if (entry?.toString() !== path) report(`topic "${path}": its entry among the due is missing`)
    }
    if (!retainsValue(details.properties) && item && valueOfItem(item, path, type) !== undefined) {
      report(`topic "${path}": it keeps a value although DONT_RETAIN_VALUE is true`)
    }
  }

  function checkItem(path: Path, type: TopicType, item: Buffer, version: number): void {
    onRecord()
    const record = getIn(specifications, path, cut)
    const specification = record && readable(record)
    if (specification?.type !== type) report(`item of type ${type} at "${path}": there is no such specification`)
    const versionExpected = specification?.details === undefined ? plainVersion : propertiedVersion
    if (version !== versionExpected) report(`item at "${path}": its version is ${version}, not ${versionExpected}`)
    const problem = itemProblem(path, type, item)
    if (problem !== undefined) report(`item at "${path}": ${problem}`)
  }

  function compare(what: string, found: number, stated: number): void {
    if (found !== stated) report(`${what}: ${found} can be read, of ${stated} that there should be; a page is damaged`)
  }

  let records = await visitAll(specifications, cut, report, checkTopic)
  compare('specifications', records, entries.specifications)
  for (const type of topicTypes) {
    const found = await visitAll(items[type], cut, report, (path, item, version) =>
      checkItem(path, type, item, version),
    )
    compare(`items of type ${type}`, found, entries[type])
    if (found !== expected[type])
      report(`there are ${found} items of type ${type} but ${expected[type]} specifications`)
    records += found
  }
  const updatesFound = await visitAll(updates, cut, report, () => {})
  compare('update times', updatesFound, entries.updates)
  if (updatesFound !== expected.updates)
    report(`there are ${updatesFound} update times but ${expected.updates} are needed`)
  const dueFound = due.getKeysCount({ ...cut })
  compare('entries among the due', dueFound, entries.due)
  if (dueFound !== expected.due)
    report(`there are ${dueFound} entries among the due but ${expected.due} are owned by a topic`)
  const keysFound = checkKeys(keys, cut, report)
  compare('API keys', keysFound, entries.keys)
  compare('times of use of API keys', keyUses.getKeysCount({ ...cut }), entries.keyUses)
  return records + updatesFound + dueFound + keysFound
}

/** Calls `visit` for every entry of the tree in the cut, with turns for others in between; answers how many. */
async function visitAll(
  tree: Tree,
  cut: Snapshot,
  report: Report,
  visit: (path: Path, value: Buffer, version: number) => void,
): Promise<number> {
  const isInOrder = createOrder()
  let count = 0
  let misplaced = 0
  let deadline = performance.now() + sliceMs
  for (const { key, value, version } of tree.getRange({ ...cut, versions: true, start: Buffer.from([0]) })) {
    const path = key as Path
    if (!isInOrder(path)) {
      report(`"${path}" is not in its place`)
      if (++misplaced > misplacedMax) throw new Error('too many keys are not in their place')
    }
    visit(path, value, version ?? 0)
    count++
    if (performance.now() > deadline) {
      await waitForSlice()
      deadline = performance.now() + sliceMs
    }
  }
  return count
}

function readable(record: Buffer): Specification | undefined {
  try {
    return decodeSpecification(record)
  } catch {
    return undefined
  }
}

function checkKeys(keys: Table, cut: Snapshot, report: Report): number {
  let count = 0
  for (const { key, value } of keys.getRange({ ...cut })) {
    count++
    const { name } = parseObject(value) ?? {}
    if (name !== key)
      report(`API key "${key}": its record ${name === undefined ? 'cannot be read' : 'has another name'}`)
  }
  return count
}

function itemProblem(path: Path, type: TopicType, item: Buffer): string | undefined {
  const parsed = parseObject(item)
  if (parsed === undefined) return 'it is not valid JSON'
  if (parsed.path !== path || parsed.type !== type) return 'its JSON is of another topic'
  if (type === 'string' && 'value' in parsed && typeof parsed.value !== 'string') return 'its value is not a string'
  const unknown = Object.keys(parsed).find((name) => name !== 'path' && name !== 'type' && name !== 'value')
  return unknown === undefined ? undefined : `it has an unknown member "${unknown}"`
}

function parseObject(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(bytes.toString())
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
