/**
 * Looks for every broken invariant, in one snapshot: for `check`, and for a backup's check of its copy. The snapshot is
 * held for the whole walk, and pages freed meanwhile are not reused, so the file may grow; a process that serves
 * requests should not do this.
 *
 * Order: specifications, which determine how many items, update times and due entries there must be → items → update
 * times → due entries → the log → API keys. Each count is compared with what must be there and with what the database
 * itself states.
 */

import { type Cancellation, Cancelled } from '../../../base/cancellation.js'
import { type Moment, now } from '../../../base/clock.js'
import { waitForSlice } from '../../../base/time-slices.js'
import { type Path, parsePath } from '../../../topics/path.js'
import { retainsValue } from '../../../topics/properties.js'
import { type RemovalPolicy, tracksUpdates } from '../../../topics/removal/policy.js'
import { type TopicType, topicTypes, valueOfItem } from '../../../topics/topic.js'
import { checkProperties, clauseProblem, itemProblem, keyRecordProblem, timesProblem } from '../../core/check-item.js'
import { dueMsOf } from '../../core/due-time.js'
import type { PlanOf } from '../../due-removals.js'
import type { Finding } from '../../maintenance.js'
import { numberOf } from '../../number-record.js'
import type { Environment, Tree } from '../environment/environment.js'
import { createOrder, type Entries, openSnapshot, type Snapshot } from '../view/snapshot.js'
import { type Details, readable } from '../view/specification.js'
import { VersionRules } from './check-versions.js'

type Report = (finding: Finding) => void

/** Keys out of order after which a walk ends: a damaged page can lead it around in circles. */
const misplacedMax = 1000

/**
 * Reports every broken invariant; returns how many records were examined.
 *
 * @param onProgress counts only topics and items
 * @param planOf to report remove clauses whose selectors are refused today: the store is sound with them
 * @throws Cancelled at the next slice once `cancellation` is set
 */
export async function check(
  environment: Environment,
  report: Report,
  onProgress: (done: number, total: number) => void = () => {},
  planOf?: PlanOf,
  cancellation?: Cancellation,
): Promise<{ records: number }> {
  const { snapshot, entries } = openSnapshot(environment)
  let seen = 0
  const total = 2 * entries.specifications
  const onRecord = (): void => onProgress(++seen, total)
  const checker = new Checker(environment, snapshot, entries, report, onRecord, planOf, cancellation)
  try {
    return { records: await checker.run() }
  } catch (error) {
    if (error instanceof Cancelled) throw error
    report(`a page is damaged, so the rest was not checked: ${(error as Error).message}`)
    return { records: seen }
  } finally {
    snapshot.transaction.done()
  }
}

class Checker {
  readonly #versions: VersionRules
  /** How many records of each database the specifications require. */
  readonly #expected = { json: 0, string: 0, updates: 0, due: 0 }

  constructor(
    private readonly environment: Environment,
    private readonly snapshot: Snapshot,
    private readonly entries: Entries,
    private readonly report: Report,
    private readonly onRecord: () => void,
    private readonly planOf: PlanOf | undefined,
    private readonly cancellation: Cancellation | undefined,
  ) {
    this.#versions = new VersionRules(environment, snapshot)
  }

  /** Examines everything; returns the number of records. */
  async run(): Promise<number> {
    if (this.#versions.problem !== undefined) this.report(this.#versions.problem)
    const specifications = await this.#checkSpecifications()
    let items = 0
    for (const type of topicTypes) items += await this.#checkItems(type)
    const updates = await this.#checkUpdates()
    const due = this.#checkDue()
    const changes = await this.#versions.checkLog(this.report, this.cancellation)
    this.#compare('records of the log', changes, this.entries.changes)
    // The log is left out: how many records a check examines should say how much is stored.
    return specifications + items + updates + due + this.#checkKeys()
  }

  async #checkSpecifications(): Promise<number> {
    const { specifications } = this.environment
    const found = await this.#visitAll(specifications, (path, record) => this.#checkTopic(path, record))
    this.#compare('specifications', found, this.entries.specifications)
    return found
  }

  #checkTopic(path: Path, record: Buffer): void {
    this.onRecord()
    const specification = readable(record)
    if (specification === undefined) return this.report(`specification of "${path}": it cannot be read`)
    const { type, details } = specification
    this.#expected[type]++
    if (parsePath(path) !== path) this.report(`topic "${path}": the key is not a valid path`)
    const item = this.environment.items[type].get(path, this.snapshot)
    if (item === undefined) this.report(`topic "${path}": it has a specification of type ${type} but no item`)
    if (details === undefined) return
    const checked = checkProperties(() => details.properties)
    if (typeof checked === 'string') {
      // Which records its policy needs is not known.
      if (this.environment.updates.get(path, this.snapshot) !== undefined) this.#expected.updates++
      if (details.due !== undefined) this.#expected.due++
      return this.report(`topic "${path}": ${checked}`)
    }
    this.#checkDetails(path, details, checked.removal)
    if (!retainsValue(details.properties) && item && valueOfItem(item, path, type) !== undefined) {
      this.report(`topic "${path}": it has a value although DONT_RETAIN_VALUE is true`)
    }
  }

  /** Checks that the records are there that a REMOVAL policy needs. */
  #checkDetails(path: Path, details: Details, policy: RemovalPolicy | undefined): void {
    const { updates, due } = this.environment
    let update: Buffer | undefined
    if (policy !== undefined && tracksUpdates(policy)) {
      this.#expected.updates++
      update = updates.get(path, this.snapshot)
      if (update === undefined) this.report(`topic "${path}": the time of its last update is missing`)
    }
    const wrong =
      policy &&
      timesProblem(() => dueMsOf(policy, details.created, update && (JSON.parse(update.toString()) as Moment), now()))
    if (wrong !== undefined) this.report(`topic "${path}": ${wrong}`)
    const refused = policy && this.planOf && clauseProblem(policy, this.planOf)
    if (refused !== undefined) this.report(`topic "${path}": ${refused}`)
    if (details.due === undefined) return
    this.#expected.due++
    const entry = due.get(Buffer.from(details.due, 'hex'), this.snapshot)
    if (entry?.toString() !== path) this.report(`topic "${path}": its due entry is missing`)
  }

  async #checkItems(type: TopicType): Promise<number> {
    const found = await this.#visitAll(this.environment.items[type], (path, item, version) =>
      this.#checkItem(path, type, item, version),
    )
    this.#compare(`items of type ${type}`, found, this.entries[type])
    const expected = this.#expected[type]
    if (found !== expected) this.report(`there are ${found} items of type ${type} but ${expected} specifications`)
    return found
  }

  #checkItem(path: Path, type: TopicType, item: Buffer, version: number): void {
    this.onRecord()
    const record = this.environment.specifications.get(path, this.snapshot)
    const specification = record && readable(record)
    if (specification?.type !== type) this.report(`item of type ${type} at "${path}": there is no such specification`)
    const wrong = this.#versions.problemOf(path, version)
    if (wrong !== undefined) this.report(`item at "${path}": ${wrong}`)
    const problem = itemProblem(path, type, item.toString())
    if (problem !== undefined) this.report(`item at "${path}": ${problem}`)
  }

  async #checkUpdates(): Promise<number> {
    const found = await this.#visitAll(this.environment.updates, () => {})
    this.#compare('update times', found, this.entries.updates, this.#expected.updates)
    return found
  }

  #checkDue(): number {
    const found = this.environment.due.getKeysCount({ ...this.snapshot })
    this.#compare('due entries', found, this.entries.due, this.#expected.due)
    return found
  }

  #checkKeys(): number {
    const { keys, keyUses } = this.environment
    let found = 0
    for (const { key, value } of keys.getRange({ ...this.snapshot })) {
      found++
      const problem = keyRecordProblem(key, value.toString())
      if (problem !== undefined) this.report(`API key "${key}": ${problem}`)
    }
    this.#compare('API keys', found, this.entries.keys)
    let uses = 0
    for (const { key, value } of keyUses.getRange({ ...this.snapshot })) {
      uses++
      if (numberOf(value) === undefined) this.report(`API key "${key}": the time of its last use cannot be read`)
    }
    this.#compare('times of use of API keys', uses, this.entries.keyUses)
    return found
  }

  /** @param stated what the database itself says @param needed what the specifications require, if anything */
  #compare(what: string, found: number, stated: number, needed = found): void {
    if (found !== stated) this.report(`${what}: ${found} can be read, but there should be ${stated}; a page is damaged`)
    if (found !== needed) this.report(`there are ${found} ${what} but ${needed} are needed`)
  }

  /** Calls `visit` for every entry of the tree; returns how many there are. Other work gets its turn in between. */
  async #visitAll(tree: Tree, visit: (path: Path, value: Buffer, version: number) => void): Promise<number> {
    const isInOrder = createOrder()
    let count = 0
    let misplaced = 0
    let slice = await waitForSlice(this.cancellation)
    for (const { key, value, version } of tree.getRange({
      ...this.snapshot,
      versions: true,
      start: Buffer.from([0]),
    })) {
      const path = key as Path
      if (!isInOrder(path)) {
        this.report(`"${path}" is out of order`)
        if (++misplaced > misplacedMax) throw new Error('too many keys are out of order')
      }
      visit(path, value, version ?? 0)
      count++
      if (slice.isOver()) slice = await waitForSlice(this.cancellation)
    }
    return count
  }
}
