/**
 * Changing topics: set, add, addAndSet, remove. Requests of one kind are gathered into batches (connection/batcher.ts), and a
 * batch is one statement, so that deciding and writing are one step, and one commit makes a whole batch durable. Of
 * several values for one topic the last value wins; earlier ones are acknowledged too, since nobody could observe the
 * state in between.
 *
 * What the statement itself cannot decide (why a topic was not set, whether properties that differ in their text are
 * compatible) is read afterwards. Where that read says that the write should have succeeded, another writer came in
 * between, and the request goes into another batch.
 *
 * Rows are always locked in the order of their keys, so that no two batches deadlock, whatever their processes.
 */

import type { Cancellation } from '../../../base/cancellation.js'
import type { Plan } from '../../../selectors/plan.js'
import { conflictsMax } from '../../../settings/limits.js'
import { encodeKey } from '../../../topics/key.js'
import { compatible, retainsValue } from '../../../topics/properties.js'
import { isRefusal } from '../../core/write/batch.js'
import { StoreError } from '../../errors.js'
import type { BatchResult, TopicRemover, WriteOperation, WriteOutcome, WriteRefusal } from '../../topics.js'
import { Batcher, type PutBack, type Request, type RequestGroup } from '../connection/batcher.js'
import { matchingKeys } from '../read/match-scan.js'
import { bytesArray, columnOf, plainArray, textArray } from '../sql/arrays.js'
import { propertiesOf, typeNumbers } from '../sql/rows.js'
import type { Execute } from '../sql/statement.js'
import type { Commits } from './commits.js'
import {
  type AddAndSetRequest,
  type AddRequest,
  creationParameters,
  creationRequest,
  inKeyOrder,
  isSameCreation,
  keysOf,
  lastOf,
  newGeneration,
  type RemoveRequest,
  resolveAll,
  resolveChanged,
  resolveFirst,
  type SetRequest,
  setRequest,
  type WriteRequest,
} from './write-requests.js'
import {
  create,
  createOrOverwrite,
  type KeyRow,
  overwrite,
  overwriteLike,
  overwriteOne,
  overwriteSame,
  readSpecifications,
  removeTopics,
  type Specification,
} from './write-statements.js'

/**
 * Batches of one kind in flight in this process: of the kinds that publishers use, one executes while another commits;
 * the others are rarer.
 */
const valueBatchesMax = 2
const otherBatchesMax = 1

/**
 * How long a write may wait for its batch to be sent, in ms. One that waited longer is rejected, since it would
 * probably not begin in time (connection/connections.ts). A checkpoint of the engine may take a second or two.
 */
const waitMsMax = 3000

/** Topics per batch: a few ms of the engine's work, so that other batches get their turn. */
const topicsMax = 500

const valueBatches = { inFlightMax: valueBatchesMax, groupsMax: topicsMax, waitMsMax }
const otherBatches = { inFlightMax: otherBatchesMax, groupsMax: topicsMax, waitMsMax }

/** An operation that depends on nothing but its topic's type and properties. */
type Alone = Exclude<WriteOperation, { readonly kind: 'increment' }>

/** The operation of a batch of one, if it is one of those. */
export function aloneOf(operations: readonly WriteOperation[]): Alone | undefined {
  const [operation] = operations
  return operations.length === 1 && operation !== undefined && isAlone(operation) ? operation : undefined
}

function isAlone(operation: WriteOperation): operation is Alone {
  return operation.constraint === undefined && operation.kind !== 'increment'
}

export class Writes implements TopicRemover {
  readonly #sets: Batcher<SetRequest>
  readonly #adds: Batcher<AddRequest>
  readonly #addAndSets: Batcher<AddAndSetRequest>
  readonly #removes: Batcher<RemoveRequest>

  /** @param scan for the statements of scans */
  constructor(
    private readonly read: Execute,
    private readonly scan: Execute,
    private readonly commits: Commits,
  ) {
    this.#sets = new Batcher<SetRequest>({
      ...valueBatches,
      canShare: (a, b) => a.type === b.type,
      execute: (batch, putBack) => this.#executeSets(batch, putBack),
    })
    this.#adds = new Batcher<AddRequest>({
      ...otherBatches,
      canShare: () => true,
      execute: (batch) => this.#executeAdds(batch),
    })
    this.#addAndSets = new Batcher<AddAndSetRequest>({
      ...valueBatches,
      canShare: isSameCreation,
      execute: (batch, putBack) => this.#executeAddAndSets(batch, putBack),
    })
    this.#removes = new Batcher<RemoveRequest>({
      ...otherBatches,
      canShare: () => true,
      execute: (batch) => this.#executeRemoves(batch),
    })
  }

  /** Carries out one operation, which has no constraint. */
  async write(operation: Alone): Promise<BatchResult> {
    const outcome = await this.#outcomeOf(operation)
    return isRefusal(outcome) ? { index: 0, action: operation, refusal: outcome } : [outcome]
  }

  async #outcomeOf(operation: Alone): Promise<WriteOutcome | WriteRefusal> {
    const { kind, path, type, valueText } = operation
    switch (kind) {
      case 'set': {
        const request = setRequest(path, type, valueText)
        return new Promise((resolve, reject) => this.#sets.add({ ...request, resolve, reject }))
      }
      case 'add': {
        const request = creationRequest(operation, undefined)
        return new Promise((resolve, reject) => this.#adds.add({ ...request, resolve, reject }))
      }
      case 'addAndSet': {
        const request = creationRequest(operation, retainsValue(operation.properties) ? valueText : undefined)
        return new Promise((resolve, reject) => this.#addAndSets.add({ ...request, conflicts: 0, resolve, reject }))
      }
      case 'remove':
        return (await this.#removeKey(encodeKey(path))) ? 'removed' : 'nothing_removed'
    }
  }

  async removeMatches(plan: Plan, cancellation: Cancellation): Promise<number> {
    let count = 0
    for await (const keys of matchingKeys(this.scan, plan, 'any', cancellation)) {
      for (const removed of await Promise.all(keys.map((key) => this.#removeKey(key)))) if (removed) count++
    }
    return count
  }

  /** Resolves once no write is gathered or in flight. */
  async drained(): Promise<void> {
    await Promise.all([this.#sets.drained(), this.#adds.drained(), this.#addAndSets.drained(), this.#removes.drained()])
  }

  #removeKey(key: Buffer): Promise<boolean> {
    return new Promise((resolve, reject) =>
      this.#removes.add({ id: columnOf(key), bytes: key.length, sinceMs: performance.now(), key, resolve, reject }),
    )
  }

  async #executeSets(batch: readonly RequestGroup<SetRequest>[], putBack: PutBack<SetRequest>): Promise<void> {
    const groups = inKeyOrder(batch)
    const left = resolveChanged(groups, await this.#overwriteAll(groups), 'set')
    const specifications = await this.#specificationsOf(left)
    for (const group of left) {
      const type = specifications.get(group[0].id)?.type
      for (const request of group) {
        if (type === undefined) request.resolve('no_such_topic')
        else if (Number(type) !== typeNumbers[request.type]) request.resolve('incompatible_type')
        else retry(putBack, request)
      }
    }
  }

  #overwriteAll(groups: readonly RequestGroup<SetRequest>[]): Promise<readonly KeyRow[]> {
    const [group] = groups
    if (group !== undefined && groups.length === 1) {
      const { key, type, item } = lastOf(group)
      return this.commits.execute(overwriteOne, groups, [key, typeNumbers[type], item])
    }
    const types = groups.map(([{ type }]) => typeNumbers[type])
    const items = groups.map((group) => lastOf(group).item)
    return this.commits.execute(overwrite, groups, [keysOf(groups), plainArray(types), textArray(items)])
  }

  async #executeAdds(batch: readonly RequestGroup<AddRequest>[]): Promise<void> {
    const groups = inKeyOrder(batch)
    const requests = groups.map(([request]) => [request, request.item] as const)
    const rows = await this.commits.execute(create, groups, creationParameters(requests, newGeneration()))
    const created = new Set(rows.map(({ key }) => key))
    for (const group of groups) resolveFirst(group, created.has(group[0].id) ? 'created' : 'present', 'present')
  }

  async #executeAddAndSets(
    batch: readonly RequestGroup<AddAndSetRequest>[],
    putBack: PutBack<AddAndSetRequest>,
  ): Promise<void> {
    const [first] = batch
    if (first !== undefined && batch.length === 1 && (await this.#overwriteFirst(first))) return
    const groups = inKeyOrder(batch)
    const generation = newGeneration()
    const requests = groups.map((group) => [group[0], lastOf(group).item] as const)
    const rows = await this.commits.execute(createOrOverwrite, groups, creationParameters(requests, generation))
    const generations = new Map(rows.map((row) => [row.key, row.generation]))
    const left: RequestGroup<AddAndSetRequest>[] = []
    for (const group of groups) {
      const changed = generations.get(group[0].id)
      if (changed === undefined) left.push(group)
      else resolveFirst(group, changed === generation ? 'created' : 'updated', 'updated')
    }
    await this.#resolveIncompatible(left, putBack)
  }

  /** @returns whether the topic had exactly these properties, or none were given; otherwise nothing was changed */
  async #overwriteFirst(group: RequestGroup<AddAndSetRequest>): Promise<boolean> {
    const [{ key, creation, properties }] = group
    const parameters = [key, typeNumbers[creation.type], properties ?? null, lastOf(group).item]
    const rows = await this.commits.execute(overwriteLike, [group], parameters)
    return resolveChanged([group], rows, 'updated').length === 0
  }

  /**
   * Answers groups whose topics differ in type or in the text of their properties; those that are compatible are
   * overwritten.
   */
  async #resolveIncompatible(
    groups: readonly RequestGroup<AddAndSetRequest>[],
    putBack: PutBack<AddAndSetRequest>,
  ): Promise<void> {
    const specifications = await this.#specificationsOf(groups)
    const same: [RequestGroup<AddAndSetRequest>, Specification][] = []
    for (const group of groups) {
      const [{ id, creation }] = group
      const specification = specifications.get(id)
      if (specification === undefined) for (const request of group) retry(putBack, request)
      else if (Number(specification.type) !== typeNumbers[creation.type]) resolveAll(group, 'incompatible_type')
      else if (compatible(propertiesOf(specification.properties), creation.properties))
        same.push([group, specification])
      else resolveAll(group, 'incompatible_properties')
    }
    if (same.length > 0) await this.#overwriteCompatible(same, putBack)
  }

  async #overwriteCompatible(
    same: readonly [RequestGroup<AddAndSetRequest>, Specification][],
    putBack: PutBack<AddAndSetRequest>,
  ): Promise<void> {
    const groups = same.map(([group]) => group)
    const rows = await this.commits.execute(overwriteSame, groups, [
      keysOf(groups),
      plainArray(same.map(([, { generation }]) => generation)),
      textArray(groups.map((group) => lastOf(group).item)),
    ])
    for (const group of resolveChanged(groups, rows, 'updated')) for (const request of group) retry(putBack, request)
  }

  async #executeRemoves(batch: readonly RequestGroup<RemoveRequest>[]): Promise<void> {
    const groups = inKeyOrder(batch)
    const rows = await this.commits.execute(removeTopics, groups, [keysOf(groups)])
    const removed = new Set(rows.map(({ key }) => key))
    for (const group of groups) resolveFirst(group, removed.has(group[0].id), false)
  }

  /**
   * The specifications of the topics of these groups, by the id of the request; a topic that does not exist has none.
   */
  async #specificationsOf(groups: readonly RequestGroup<WriteRequest>[]): Promise<ReadonlyMap<string, Specification>> {
    if (groups.length === 0) return new Map()
    const rows = await this.read(readSpecifications, [bytesArray(groups.map(([{ key }]) => key))])
    return new Map(rows.map((row) => [row.key, row]))
  }
}

/** Has a request tried again in another batch, unless too many other writes have come in between. */
function retry<R extends Request & { conflicts: number }>(putBack: PutBack<R>, request: R): void {
  if (++request.conflicts < conflictsMax) putBack(request)
  else request.reject(new StoreError('retry', 'too many concurrent writes to one topic'))
}
