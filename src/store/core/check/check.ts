/**
 * Looks for every broken invariant in the log, the topics and the API keys, in one snapshot. The snapshot stays open for the whole
 * walk; a process that serves requests should not do this.
 *
 * A topic's records are found through the topic. So for each kind of record, the number found equals the engine's count, unless
 * some are lost or belong to no topic.
 */
import { type Cancellation, Cancelled } from '../../../base/cancellation.js'
import { now } from '../../../base/clock.js'
import { valueOfItem } from '../../../topics/item.js'
import { type Path, parsePath } from '../../../topics/path.js'
import { parseProperties, retainsValue } from '../../../topics/properties.js'
import { everyTopic, type KeyRange, rangesAfter } from '../../../topics/range.js'
import { type RemovalPolicy, tracksUpdates } from '../../../topics/removal/policy.js'
import type { Properties, TopicType } from '../../../topics/topic.js'
import type { PlanOf } from '../../due-removals.js'
import type { Engine, Head, Records, Snapshot, StoredTopic } from '../../engine.js'
import { StoreError, UnreadableTopic } from '../../errors.js'
import type { Finding } from '../../maintenance.js'
import { numberOf } from '../../number-record.js'
import { dueMsOf } from '../due-time.js'
import { readKeyRecord } from '../key-records.js'
import { LogCheck } from './log.js'

/** A walk ends after this many keys out of order: a damaged page can lead it around in circles. */
const misplacedMax = 1000

/** Read-ahead for an engine that waits for its reads. */
const ahead = { topics: 500, bytes: 8 * 1024 * 1024 }

/** Wider than the range of valid keys, so that invalid ones are also found. */
const everyKey: KeyRange = { start: Buffer.from([0]), end: Buffer.from([...everyTopic.end, 0xff]) }

/**
 * See `StoreChecker`.
 *
 * @param planOf without it, remove clauses whose selectors are rejected today are not reported: a store that has such clauses is
 *   sound
 * @param onProgress `done` counts only topics
 * @returns the number of records examined
 */
export async function check(
  engine: Pick<Engine, 'openSnapshot'>,
  report: (finding: Finding) => void,
  planOf: PlanOf | undefined,
  onProgress: (done: number, total: number) => void = () => {},
  cancellation: Cancellation = { aborted: false },
): Promise<{ records: number }> {
  const snapshot = await engine.openSnapshot()
  const checker = new Checker(snapshot, report, planOf, onProgress, cancellation)
  try {
    await checker.run()
  } catch (error) {
    if (error instanceof Cancelled || error instanceof StoreError) throw error
    report(`a page is damaged, so the rest was not checked: ${(error as Error).message}`)
  } finally {
    await snapshot.close()
  }
  return { records: checker.records }
}

class Checker {
  readonly #log: LogCheck
  readonly #seen = { topics: 0, json: 0, string: 0, updates: 0, due: 0, changes: 0, keys: 0, keyUses: 0 }
  #misplaced = 0
  /** True if some policies could not be read, so that the records that they need are unknown. */
  #hasUnreadable = false

  constructor(
    private readonly snapshot: Snapshot,
    private readonly report: (finding: Finding) => void,
    private readonly planOf: PlanOf | undefined,
    private readonly onProgress: (done: number, total: number) => void,
    private readonly cancellation: Cancellation,
  ) {
    this.#log = new LogCheck(snapshot, report, cancellation)
  }

  /** The number of records examined, excluding the log and keys' last uses: it should reflect the amount of stored data. */
  get records(): number {
    const { topics, json, string, updates, due, keys } = this.#seen
    return topics + json + string + updates + due + keys
  }

  async run(): Promise<void> {
    this.#seen.changes = await this.#log.checkRecords()
    await this.#checkTopics()
    await this.#checkKeys()
    this.#compareCounts()
  }

  async #checkTopics(): Promise<void> {
    const wanted = { head: true, item: true, version: true }
    let left: readonly KeyRange[] = [everyKey]
    while (left.length > 0) {
      let last: Path | undefined
      const take = (path: Path, topic: StoredTopic | undefined): boolean => {
        this.#checkTopic(path, topic)
        last = this.#log.isFull ? path : undefined
        return last === undefined
      }
      const onMisplaced = (path: Path): void => {
        this.report(`"${path}" is out of order`)
        if (++this.#misplaced > misplacedMax) throw new Error('too many keys are out of order')
      }
      const scan = { plan: { ranges: left, matcher: undefined }, type: undefined, wanted, ahead, take, onMisplaced }
      await this.snapshot.scan(scan, this.cancellation)
      await this.#log.compareVersions()
      left = last === undefined ? [] : rangesAfter(left, last)
    }
  }

  #checkTopic(path: Path, topic: StoredTopic | undefined): void {
    this.#seen.topics++
    this.onProgress(this.#seen.topics, this.snapshot.stated?.topics ?? this.#seen.topics)
    if (parsePath(path) !== path) this.report(`topic "${path}": the key is not a valid path`)
    if (topic === undefined) return
    const { type, item, version } = topic
    if (item === undefined) this.report(`topic "${path}": it has no item of type ${type}`)
    else {
      this.#seen[type]++
      this.#log.noteVersion(path, version)
      const problem = itemProblem(path, type, Buffer.from(item).toString())
      if (problem !== undefined) this.report(`item at "${path}": ${problem}`)
    }
    try {
      const head = topic.head()
      if (head !== undefined) this.#checkHead(path, topic, head)
    } catch (error) {
      if (!(error instanceof UnreadableTopic)) throw error
      this.#hasUnreadable = true
      this.report(`topic "${path}": its properties cannot be read`)
    }
  }

  #checkHead(path: Path, topic: StoredTopic, { properties, created, due }: Head): void {
    const report = (problem: string): void => this.report(`topic "${path}": ${problem}`)
    if (due !== undefined && topic.isScheduled()) this.#seen.due++
    else if (due !== undefined) report('its due entry is missing')
    const policy = policyOf(properties)
    if (typeof policy === 'string') {
      this.#hasUnreadable = true
      return report(policy)
    }
    const { item, type } = topic
    if (!retainsValue(properties) && item && valueOfItem(item, path, type) !== undefined)
      report('it has a value although DONT_RETAIN_VALUE is true')
    if (policy === undefined) return due && report('it has a due time but no REMOVAL')
    // After its clause has been executed, a policy has no due time.
    if (due === undefined && policy.selector === undefined) report('it has a REMOVAL but no due time')
    try {
      dueMsOf(policy, created, this.#updatedOf(path, topic, policy), now())
    } catch {
      report('the time of its creation or its last update cannot be read')
    }
    const refused = this.planOf && clauseProblem(policy, this.planOf)
    if (refused !== undefined) report(refused)
  }

  #updatedOf(path: Path, topic: StoredTopic, policy: RemovalPolicy): ReturnType<StoredTopic['updated']> {
    if (!tracksUpdates(policy)) return undefined
    const updated = topic.updated()
    if (updated === undefined) this.report(`topic "${path}": the time of its last update is missing`)
    else this.#seen.updates++
    return updated
  }

  async #checkKeys(): Promise<void> {
    for (const [name, record] of await this.snapshot.records('keys')) {
      this.#seen.keys++
      const read = readKeyRecord(name, record.toString())
      if (typeof read === 'string') this.report(`API key "${name}": ${read}`)
    }
    for (const [name, record] of await this.snapshot.records('keyUses')) {
      this.#seen.keyUses++
      if (numberOf(record) === undefined) this.report(`API key "${name}": the time of its last use cannot be read`)
    }
  }

  #compareCounts(): void {
    const { stated } = this.snapshot
    if (stated === undefined) return
    for (const kind of Object.keys(words) as (keyof Records)[]) {
      const isUnsure = this.#hasUnreadable && (kind === 'updates' || kind === 'due')
      if (this.#seen[kind] === stated[kind] || isUnsure) continue
      this.report(`the store counts ${stated[kind]} ${words[kind]}, but ${this.#seen[kind]} were found`)
    }
  }
}

/** Names for the kinds of record in findings. */
const words: Readonly<Record<keyof Records, string>> = {
  topics: 'topics',
  json: 'items of type json',
  string: 'items of type string',
  updates: 'update times',
  due: 'due entries',
  changes: 'records of the log',
  keys: 'API keys',
  keyUses: 'last-use times of API keys',
}

/** The fault, as the end of a sentence; undefined if the item is sound. */
function itemProblem(path: Path, type: TopicType, item: string): string | undefined {
  let parsed: Record<string, unknown> | null
  try {
    parsed = JSON.parse(item)
  } catch {
    return 'it is not valid JSON'
  }
  if (typeof parsed !== 'object' || parsed === null) return 'it is not valid JSON'
  if (parsed.path !== path || parsed.type !== type) return 'its JSON belongs to another topic'
  if (type === 'string' && 'value' in parsed && typeof parsed.value !== 'string') return 'its value is not a string'
  const unknown = Object.keys(parsed).find((name) => name !== 'path' && name !== 'type' && name !== 'value')
  return unknown === undefined ? undefined : `it has an unknown member "${unknown}"`
}

/** Returns a string, the end of a sentence, if the properties are invalid. */
function policyOf(properties: Properties): RemovalPolicy | string | undefined {
  try {
    const policy = parseProperties(properties)
    return policy && 'problem' in policy ? `its property ${policy.name} ${policy.problem}` : policy
  } catch {
    return 'its properties cannot be read'
  }
}

/** The fault, as the end of a sentence. An earlier release may have stored a selector that is rejected today. */
function clauseProblem({ selector }: RemovalPolicy, planOf: PlanOf): string | undefined {
  if (selector === undefined) return undefined
  const plan = planOf(selector)
  if (!('problem' in plan)) return undefined
  return `the remove clause of its REMOVAL removes nothing because its selector ${plan.problem}; remove the topic and add it with another selector`
}
