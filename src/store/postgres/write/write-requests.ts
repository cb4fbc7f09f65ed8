/**
 * What callers of writes request, how a request is made from a path and a value, and what a statement needs from groups
 * of them. Everything here is pure: no statement is executed.
 */
import { randomBytes } from 'node:crypto'
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { retainsValue } from '../../../topics/properties.js'
import { encodeItem, type TopicType } from '../../../topics/topic.js'
import type { Absent, Creation } from '../../topics.js'
import type { Request, RequestGroup } from '../connection/batcher.js'
import { bytesArray, columnOf, plainArray, textArray } from '../sql/arrays.js'
import { columnOfProperties, typeNumbers } from '../sql/rows.js'
import type { Parameter } from '../sql/statement.js'
import type { KeyRow } from './write-statements.js'

export interface WriteRequest extends Request {
  readonly key: Buffer
}

export interface SetRequest extends WriteRequest {
  readonly type: TopicType
  readonly item: Buffer
  conflicts: number
  resolve(outcome: 'set' | Absent): void
}

interface CreationRequest extends WriteRequest {
  readonly creation: Creation
  /** Undefined for a topic without properties. */
  readonly properties: Buffer | undefined
  readonly item: Buffer
}

export interface AddRequest extends CreationRequest {
  resolve(outcome: 'created' | 'present'): void
}

export interface AddAndSetRequest extends CreationRequest {
  conflicts: number
  resolve(outcome: 'created' | 'updated' | 'incompatible_type' | 'incompatible_properties'): void
}

export interface RemoveRequest extends WriteRequest {
  resolve(removed: boolean): void
}

/** A request without the promise that it settles. */
type Unsettled<R> = Omit<R, 'resolve' | 'reject'>

export function setRequest(path: Path, type: TopicType, valueText: Uint8Array | undefined): Unsettled<SetRequest> {
  const key = encodeKey(path)
  const item = encodeItem(path, type, valueText)
  const bytes = key.length + item.length
  return { id: columnOf(key), bytes, sinceMs: performance.now(), key, type, item, conflicts: 0 }
}

/** The part of a request that `add` and `addAndSet` share. */
export function creationRequest(creation: Creation, valueText: Uint8Array | undefined): Unsettled<CreationRequest> {
  const { path, type, properties } = creation
  const key = encodeKey(path)
  const item = encodeItem(path, type, valueText)
  const column = columnOfProperties(properties)
  const bytes = key.length + item.length + (column?.length ?? 0)
  return { id: columnOf(key), bytes, sinceMs: performance.now(), key, creation, properties: column, item }
}

/** Whether two requests name the same type and properties, so that the engine would treat both alike. */
export function isSameCreation(a: AddAndSetRequest, b: AddAndSetRequest): boolean {
  if (a.creation.type !== b.creation.type) return false
  return a.properties === undefined || b.properties === undefined
    ? a.properties === b.properties
    : a.properties.equals(b.properties)
}

/**
 * The parameters of the statements that create: one array per column, then the generation of the topics that they
 * create.
 */
export function creationParameters(
  requests: readonly (readonly [Pick<CreationRequest, 'key' | 'creation' | 'properties'>, Buffer])[],
  generation: string,
): Parameter[] {
  return [
    bytesArray(requests.map(([{ key }]) => key)),
    plainArray(requests.map(([{ creation }]) => typeNumbers[creation.type])),
    plainArray(requests.map(([{ creation }]) => retainsValue(creation.properties))),
    textArray(requests.map(([{ properties }]) => properties)),
    textArray(requests.map(([, item]) => item)),
    plainArray(requests.map(([{ creation }]) => creation.removal !== undefined)),
    generation,
  ]
}

/** A generation: random, so that no two topics that ever existed at one path share it. */
export function newGeneration(): string {
  return String(BigInt.asIntN(63, randomBytes(8).readBigInt64BE()))
}

/** The groups in the order in which their rows must be locked. */
export function inKeyOrder<R extends WriteRequest>(groups: readonly RequestGroup<R>[]): RequestGroup<R>[] {
  return [...groups].sort(([a], [b]) => Buffer.compare(a.key, b.key))
}

/** When the oldest request was made, in ms of performance.now(). */
export function oldestMs(groups: readonly RequestGroup<Request>[]): number {
  let oldest = Infinity
  for (const group of groups) for (const { sinceMs } of group) oldest = Math.min(oldest, sinceMs)
  return oldest
}

/** The keys of the groups, as a parameter. */
export function keysOf(groups: readonly RequestGroup<WriteRequest>[]): Buffer {
  return bytesArray(groups.map(([{ key }]) => key))
}

/** The last request of a group: its value is the one that is written. */
export function lastOf<R extends Request>(group: RequestGroup<R>): R {
  return group.at(-1) ?? group[0]
}

/** Resolves the requests of the groups whose keys the statement returned; returns the other groups. */
export function resolveChanged<Outcome, R extends WriteRequest & { resolve(outcome: Outcome): void }>(
  groups: readonly RequestGroup<R>[],
  rows: readonly KeyRow[],
  outcome: Outcome,
): RequestGroup<R>[] {
  const changed = new Set(rows.map(({ key }) => key))
  const left: RequestGroup<R>[] = []
  for (const group of groups) {
    if (!changed.has(group[0].id)) left.push(group)
    else resolveAll(group, outcome)
  }
  return left
}

/** Resolves every request of a group. */
export function resolveAll<Outcome>(
  group: readonly { resolve(outcome: Outcome): void }[],
  outcome: NoInfer<Outcome>,
): void {
  for (const request of group) request.resolve(outcome)
}

/**
 * Resolves a group in which only the first request can have made the change: it gets `first`, the rest get `others`.
 */
export function resolveFirst<Outcome>(
  group: readonly { resolve(outcome: Outcome): void }[],
  first: NoInfer<Outcome>,
  others: NoInfer<Outcome>,
): void {
  for (const [index, request] of group.entries()) request.resolve(index === 0 ? first : others)
}
