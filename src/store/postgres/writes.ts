/**
 * Changing topics: set, add, addAndSet, remove. Requests of one kind are gathered into rounds (batcher.ts), and a round is one
 * statement, so that deciding and writing are one step, and one commit makes a whole round durable. What the statement
 * itself cannot decide (why a topic was not set, whether properties that differ in their text are compatible) is read
 * afterwards; where that reading says that the write should have been made, somebody else came in between, and the ask goes
 * into another round.
 *
 * Rows are always locked in the order of their keys, so that no two rounds, of whatever process, wait for each other.
 */
import { randomBytes } from 'node:crypto'
import { createHistogram, secondsBounds } from '../../histogram.js'
import { conflictsMax } from '../../limits.js'
import type { Plan } from '../../selectors/plan.js'
import { encodeKey } from '../../topics/key.js'
import type { Path } from '../../topics/path.js'
import { compatible, retainsValue } from '../../topics/properties.js'
import { encodeItem, type TopicType } from '../../topics/topic.js'
import {
  type Absent,
  type Cancellation,
  type CommitStats,
  type Creation,
  StoreError,
  type TopicStore,
} from '../store.js'
import { bytesArray, columnOf, plainArray, textArray } from './arrays.js'
import { type Batcher, createBatcher, type Request, type RequestGroup } from './batcher.js'
import type { Connections } from './connections.js'
import { columnOfProperties, propertiesOf, typeNumbers } from './rows.js'
import { matchingKeys } from './scan.js'
import { clockMs, type Execute, inTime, type Parameter, type Statement } from './statement.js'

export interface Writes extends Pick<TopicStore, 'set' | 'add' | 'addAndSet' | 'remove' | 'removeMatches'> {
  readonly commits: CommitStats
  /** Resolves once no write is gathered or under way. */
  drained(): Promise<void>
}

type Key = { readonly key: string }

const overwrite: Statement<Key> = {
  name: 'overwrite',
  text: `
    update topicd.topics t
    set item = case when t.retains then v.item else t.item end, updated = ${clockMs}
    from unnest($1::bytea[], $2::smallint[], $3::text[]) as v (key, type, item)
    where t.key = v.key and t.type = v.type and ${inTime(4)}
    returning t.key`,
}

/** The same for one topic: a lone publisher need not wait for the unpacking of arrays. */
const overwriteOne: Statement<Key> = {
  name: 'overwrite_one',
  text: `
    update topicd.topics t
    set item = case when t.retains then $3::text else t.item end, updated = ${clockMs}
    where t.key = $1::bytea and t.type = $2::smallint and ${inTime(4)}
    returning t.key`,
}

/** Like `overwrite`, for topics that were looked at before: only those that are still the same. */
const overwriteSame: Statement<Key> = {
  name: 'overwrite_same',
  text: `
    update topicd.topics t
    set item = case when t.retains then v.item else t.item end, updated = ${clockMs}
    from unnest($1::bytea[], $2::bigint[], $3::text[]) as v (key, life, item)
    where t.key = v.key and t.life = v.life and ${inTime(4)}
    returning t.key`,
}

/** The parameters are those of `creationsOf`. A REMOVAL policy is judged as soon as it can be, and filed then. */
const insertTopics = `
    insert into topicd.topics as t (key, type, retains, properties, item, life, created, updated, due)
    select v.key, v.type, v.retains, v.properties, v.item, $7::bigint, ${clockMs}, ${clockMs}, case when v.removal then ${clockMs} end
    from unnest($1::bytea[], $2::smallint[], $3::boolean[], $4::text[], $5::text[], $6::boolean[])
      as v (key, type, retains, properties, item, removal)
    where ${inTime(8)}`

const create: Statement<Key> = {
  name: 'create',
  text: `${insertTopics} on conflict (key) do nothing returning key`,
}

const createOrOverwrite: Statement<Key & { readonly life: string }> = {
  name: 'create_or_overwrite',
  text: `${insertTopics}
    on conflict (key) do update
    set item = case when t.retains then excluded.item else t.item end, updated = ${clockMs}
    where t.type = excluded.type and (excluded.properties is null or excluded.properties = t.properties) and ${inTime(8)}
    returning key, life`,
}

/** For one topic: a lone publisher mostly overwrites, which takes the engine less than trying to create. */
const overwriteLike: Statement<Key> = {
  name: 'overwrite_like',
  text: `
    update topicd.topics t
    set item = case when t.retains then $4::text else t.item end, updated = ${clockMs}
    where t.key = $1::bytea and t.type = $2::smallint and ($3::text is null or t.properties = $3::text) and ${inTime(5)}
    returning t.key`,
}

const removeTopics: Statement<Key> = {
  name: 'remove',
  text: `delete from topicd.topics where key = any($1::bytea[]) and ${inTime(2)} returning key`,
}

const readSpecifications: Statement<
  Key & { readonly type: string; readonly properties: string | null; readonly life: string }
> = {
  name: 'read_specifications',
  text: 'select key, type, properties, life from topicd.topics where key = any($1::bytea[])',
}

/**
 * Rounds of one kind under way in this process: of those that publishers make, one is being carried out while another one's
 * commit goes to disk; the others are rarer.
 */
const valueBatchesMax = 2
const otherBatchesMax = 1

/**
 * How long a write may wait for its round to go out, in ms; one that was asked for longer ago is refused, since it would hardly begin
 * in time (connections.ts). A checkpoint of the engine may take a second or two.
 */
const waitMsMax = 3000

/** Topics in one round: some ms of the engine's work, then others have a turn. */
const topicsMax = 500

interface TopicRequest extends Request {
  readonly key: Buffer
}

interface SetRequest extends TopicRequest {
  readonly type: TopicType
  readonly item: Buffer
  conflicts: number
  resolve(outcome: 'set' | Absent): void
}

interface AddRequest extends TopicRequest {
  readonly creation: Creation
  readonly properties: Buffer | undefined
  readonly item: Buffer
  resolve(outcome: 'created' | 'present'): void
}

interface AddAndSetRequest extends Omit<AddRequest, 'resolve'> {
  conflicts: number
  resolve(outcome: 'created' | 'updated' | 'incompatible_type' | 'incompatible_properties'): void
}

interface RemoveRequest extends TopicRequest {
  resolve(removed: boolean): void
}

/** Writes that one commit made durable together. */
const batchBounds: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

/** @param scan for the statements of scans */
export function createWrites({ read, write }: Connections, scan: Execute): Writes {
  const seconds = createHistogram(secondsBounds)
  const batches = createHistogram(batchBounds)
  const commits = { writes: 0, failed: 0, inFlight: 0, seconds, batches }

  /** Carries out a round's statement, and counts it unless it changed nothing; the groups are in the order of their keys. */
  async function commit<Row>(
    statement: Statement<Row>,
    groups: readonly RequestGroup<TopicRequest>[],
    parameters: readonly Parameter[],
  ): Promise<readonly Row[]> {
    const requests = groups.reduce((sum, group) => sum + group.length, 0)
    const startedAt = performance.now()
    commits.inFlight += requests
    try {
      const rows = await write(statement, parameters, oldestOf(groups))
      if (rows.length === 0) return rows
      commits.writes += requests
      seconds.record((performance.now() - startedAt) / 1000)
      batches.record(requests)
      return rows
    } catch (error) {
      commits.failed += requests
      throw error
    } finally {
      commits.inFlight -= requests
    }
  }

  /** What stands at the keys of these groups, by key. */
  async function specificationsOf(
    groups: readonly RequestGroup<TopicRequest>[],
  ): Promise<ReadonlyMap<string, Specification>> {
    if (groups.length === 0) return new Map()
    const rows = await read(readSpecifications, [bytesArray(groups.map(([{ key }]) => key))])
    return new Map(rows.map((row) => [row.key, row]))
  }

  /** The later ones' value stands; until then nobody can tell that the earlier ones' ever did. */
  async function executeSets(round: readonly RequestGroup<SetRequest>[]): Promise<void> {
    const groups = inKeyOrder(round)
    const rows = await overwriteAll(groups)
    const left = settleDone(groups, rows, 'set')
    const found = await specificationsOf(left)
    for (const group of left) {
      const type = found.get(group[0].id)?.type
      for (const request of group) {
        if (type === undefined) request.resolve('no_such_topic')
        else if (Number(type) !== typeNumbers[request.type]) request.resolve('incompatible_type')
        else retry(sets, request)
      }
    }
  }

  function overwriteAll(groups: readonly RequestGroup<SetRequest>[]): Promise<readonly Key[]> {
    const types = groups.map(([{ type }]) => typeNumbers[type])
    const items = groups.map((group) => lastOf(group).item)
    if (groups.length === 1) return commit(overwriteOne, groups, [groups[0][0].key, types[0], items[0]])
    return commit(overwrite, groups, [keysOf(groups), plainArray(types), textArray(items)])
  }

  async function executeAdds(round: readonly RequestGroup<AddRequest>[]): Promise<void> {
    const groups = inKeyOrder(round)
    const rows = await commit(
      create,
      groups,
      creationsOf(
        groups.map(([request]) => [request, request.item]),
        newLife(),
      ),
    )
    const created = new Set(rows.map(({ key }) => key))
    for (const group of groups) {
      for (const [place, request] of group.entries())
        request.resolve(place === 0 && created.has(request.id) ? 'created' : 'present')
    }
  }

  async function executeAddAndSets(round: readonly RequestGroup<AddAndSetRequest>[]): Promise<void> {
    if (round.length === 1 && (await overwriteFirst(round[0]))) return
    const groups = inKeyOrder(round)
    const life = newLife()
    const requests = groups.map((group) => [group[0], lastOf(group).item] as const)
    const rows = await commit(createOrOverwrite, groups, creationsOf(requests, life))
    const lives = new Map(rows.map((row) => [row.key, row.life]))
    const left: RequestGroup<AddAndSetRequest>[] = []
    for (const group of groups) {
      const standing = lives.get(group[0].id)
      if (standing === undefined) left.push(group)
      else
        for (const [place, request] of group.entries())
          request.resolve(place === 0 && standing === life ? 'created' : 'updated')
    }
    const found = await specificationsOf(left)
    const same: [RequestGroup<AddAndSetRequest>, Specification][] = []
    for (const group of left) {
      const [{ id, creation }] = group
      const standing = found.get(id)
      if (standing === undefined) for (const request of group) retry(addAndSets, request)
      else if (Number(standing.type) !== typeNumbers[creation.type])
        for (const request of group) request.resolve('incompatible_type')
      else if (compatible(propertiesOf(standing.properties), creation.properties)) same.push([group, standing])
      else for (const request of group) request.resolve('incompatible_properties')
    }
    if (same.length > 0) await overwriteCompatible(same)
  }

  /** @returns whether the topic was there with these very properties, or none were asked for; else nothing was changed */
  async function overwriteFirst(group: RequestGroup<AddAndSetRequest>): Promise<boolean> {
    const [{ key, creation, properties }] = group
    const rows = await commit(
      overwriteLike,
      [group],
      [key, typeNumbers[creation.type], properties ?? null, lastOf(group).item],
    )
    return settleDone([group], rows, 'updated').length === 0
  }

  async function overwriteCompatible(same: readonly [RequestGroup<AddAndSetRequest>, Specification][]): Promise<void> {
    const groups = same.map(([group]) => group)
    const rows = await commit(overwriteSame, groups, [
      keysOf(groups),
      plainArray(same.map(([, { life }]) => life)),
      textArray(groups.map((group) => lastOf(group).item)),
    ])
    for (const group of settleDone(groups, rows, 'updated')) for (const request of group) retry(addAndSets, request)
  }

  async function executeRemoves(round: readonly RequestGroup<RemoveRequest>[]): Promise<void> {
    const groups = inKeyOrder(round)
    const rows = await commit(removeTopics, groups, [keysOf(groups)])
    const removed = new Set(rows.map(({ key }) => key))
    for (const group of groups)
      for (const [place, request] of group.entries()) request.resolve(place === 0 && removed.has(request.id))
  }

  const values = { inFlightMax: valueBatchesMax, groupsMax: topicsMax, waitMsMax }
  const others = { inFlightMax: otherBatchesMax, groupsMax: topicsMax, waitMsMax }
  const sets = createBatcher<SetRequest>({ ...values, canShare: (a, b) => a.type === b.type, execute: executeSets })
  const adds = createBatcher<AddRequest>({ ...others, canShare: () => true, execute: executeAdds })
  const addAndSets = createBatcher<AddAndSetRequest>({ ...values, canShare: sameCreation, execute: executeAddAndSets })
  const removes = createBatcher<RemoveRequest>({ ...others, canShare: () => true, execute: executeRemoves })

  function removeKey(key: Buffer): Promise<boolean> {
    return new Promise((resolve, reject) =>
      removes.add({ id: columnOf(key), bytes: key.length, sinceMs: performance.now(), key, resolve, reject }),
    )
  }

  return {
    commits,
    set(path, type, valueText) {
      const key = encodeKey(path)
      const item = encodeItem(path, type, valueText)
      const request = {
        id: columnOf(key),
        bytes: key.length + item.length,
        sinceMs: performance.now(),
        key,
        type,
        item,
        conflicts: 0,
      }
      return new Promise((resolve, reject) => sets.add({ ...request, resolve, reject }))
    },
    add(creation) {
      return new Promise((resolve, reject) => adds.add({ ...requestOf(creation, undefined), resolve, reject }))
    },
    addAndSet(creation, valueText) {
      const request = requestOf(creation, retainsValue(creation.properties) ? valueText : undefined)
      return new Promise((resolve, reject) => addAndSets.add({ ...request, conflicts: 0, resolve, reject }))
    },
    remove: (path: Path) => removeKey(encodeKey(path)),
    async removeMatches(plan: Plan, cancellation: Cancellation) {
      let removed = 0
      for await (const keys of matchingKeys(scan, plan, undefined, cancellation)) {
        for (const done of await Promise.all(keys.map(removeKey))) if (done) removed++
      }
      return removed
    },
    async drained() {
      await Promise.all(
        [sets, adds, addAndSets, removes].map((batcher: Pick<Batcher<never>, 'drained'>) => batcher.drained()),
      )
    },
  }
}

type Specification = typeof readSpecifications extends Statement<infer Row> ? Row : never

/** What both ways of creating a topic ask for. */
function requestOf(creation: Creation, valueText: Uint8Array | undefined): Omit<AddRequest, 'resolve' | 'reject'> {
  const { path, type, properties } = creation
  const key = encodeKey(path)
  const item = encodeItem(path, type, valueText)
  const columnBytes = columnOfProperties(properties)
  const bytes = key.length + item.length + (columnBytes?.length ?? 0)
  return { id: columnOf(key), bytes, sinceMs: performance.now(), key, creation, properties: columnBytes, item }
}

/** Whether two ask for the same topic in the same words: then whatever the first one finds, the second finds too. */
function sameCreation(a: AddAndSetRequest, b: AddAndSetRequest): boolean {
  if (a.creation.type !== b.creation.type) return false
  return a.properties === undefined || b.properties === undefined
    ? a.properties === b.properties
    : a.properties.equals(b.properties)
}

/** The parameters of the statements that create: a column each, then the life of what they create. */
function creationsOf(requests: readonly (readonly [Omit<AddRequest, 'resolve'>, Buffer])[], life: string): Parameter[] {
  return [
    bytesArray(requests.map(([{ key }]) => key)),
    plainArray(requests.map(([{ creation }]) => typeNumbers[creation.type])),
    plainArray(requests.map(([{ creation }]) => retainsValue(creation.properties))),
    textArray(requests.map(([{ properties }]) => properties)),
    textArray(requests.map(([, item]) => item)),
    plainArray(requests.map(([{ creation }]) => creation.removal !== undefined)),
    life,
  ]
}

/** Random, so that no two topics at one path, whenever they stood, share it. */
function newLife(): string {
  return String(BigInt.asIntN(63, randomBytes(8).readBigInt64BE()))
}

function inKeyOrder<A extends TopicRequest>(groups: readonly RequestGroup<A>[]): RequestGroup<A>[] {
  return [...groups].sort(([a], [b]) => Buffer.compare(a.key, b.key))
}

/** When the first of them was asked for. */
function oldestOf(groups: readonly RequestGroup<Request>[]): number {
  let oldestMs = Infinity
  for (const group of groups) for (const { sinceMs } of group) oldestMs = Math.min(oldestMs, sinceMs)
  return oldestMs
}

function keysOf(groups: readonly RequestGroup<TopicRequest>[]): Buffer {
  return bytesArray(groups.map(([{ key }]) => key))
}

function lastOf<A extends Request>(group: RequestGroup<A>): A {
  return group[group.length - 1]
}

/** Resolves the asks of the groups whose keys the statement returned; answers the other groups. */
function settleDone<Outcome, A extends TopicRequest & { resolve(outcome: Outcome): void }>(
  groups: readonly RequestGroup<A>[],
  rows: readonly Key[],
  outcome: Outcome,
): RequestGroup<A>[] {
  const done = new Set(rows.map(({ key }) => key))
  const left: RequestGroup<A>[] = []
  for (const group of groups) {
    if (!done.has(group[0].id)) left.push(group)
    else for (const request of group) request.resolve(outcome)
  }
  return left
}

/** Into another round, unless too many others have come in between. */
function retry<A extends Request & { conflicts: number }>(rounds: Batcher<A>, request: A): void {
  if (++request.conflicts < conflictsMax) rounds.add(request)
  else request.reject(new StoreError('retry', 'too many writes met at one topic'))
}
