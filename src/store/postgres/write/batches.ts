/**
 * Batches of operations, and single ones with a constraint. Those that arrive together share one transaction: it locks
 * all their keys → reads what is there → decides (store/core/write/batch.ts) → writes → logs → commits, or rolls back if nothing
 * changes.
 *
 * A key without a topic must be locked too, since "there is no topic" may be what an operation relies on: a row is
 * inserted in its place, which no other transaction sees, and is replaced or deleted at the end. Rows are locked and
 * inserted by one statement in the order of their keys, as everywhere, so that no two transactions deadlock.
 */
import { strict as assert } from 'node:assert'
import { ValueText } from '../../../topics/constraint.js'
import { numberTextMax } from '../../../topics/decimal.js'
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { retainsValue } from '../../../topics/properties.js'
import { encodeItem, valueOfItem } from '../../../topics/topic.js'
import { BatchDecisions, type Change, type DecidedTopic, isRefusal, isRefused } from '../../core/write/batch.js'
import type { BatchResult, Creation, WriteOperation } from '../../topics.js'
import { Batcher, type Request, type RequestGroup } from '../connection/batcher.js'
import type { Transact } from '../connection/connections.js'
import type { Statements, Transacted } from '../connection/transaction.js'
import { bytesArray, columnOf, plainArray, textArray } from '../sql/arrays.js'
import type { ChangedRow } from '../sql/logged-statement.js'
import { columnOfProperties, propertiesOf, typeOfColumn } from '../sql/rows.js'
import type { Parameter, Statement } from '../sql/statement.js'
import { changeTopics, lockKeys, readItems, readTopics } from './batch-statements.js'
import type { Commits } from './commits.js'
import { creationParameters, newGeneration, oldestMs } from './write-requests.js'
import { overwriteSame, removeTopics } from './write-statements.js'

/** Transactions in flight in this process: while one waits for its commit, another may execute. */
const inFlightMax = 2

/** Batches in a transaction, at most. */
const batchesMax = 100

/** How long a batch may wait for its transaction, in ms; see writes.ts. */
const waitMsMax = 3000

/**
 * What an operation counts at least towards the bytes of a transaction (connection/batcher.ts): it closes after about a thousand.
 */
const operationBytesMin = 4096

/** Items that are read at a time for constraints, in bytes; a larger one is read alone. */
const sliceBytesMax = 8 * 1024 * 1024

interface BatchRequest extends Request {
  readonly operations: readonly WriteOperation[]
  readonly isAtomic: boolean
  resolve(result: BatchResult): void
}

/** A topic as a transaction reads it. */
interface Stored extends DecidedTopic {
  readonly key: Buffer
  readonly generation: string
}

/** What the values of topics are needed for. */
interface Wanted {
  /** The texts that constraints compare them with, by their paths; none where an increment adds to the value. */
  readonly texts: ReadonlyMap<Path, readonly Uint8Array[]>
  /** Those that are their topics' values. */
  readonly held: Set<Uint8Array>
  /** The values that may be numbers. */
  readonly numbers: Map<Path, Uint8Array>
}

type TopicChange = Change<Stored, WriteOperation>

export class Batches {
  readonly #batcher: Batcher<BatchRequest>
  #requests = 0

  constructor(
    private readonly transact: Transact,
    private readonly commits: Commits,
  ) {
    this.#batcher = new Batcher<BatchRequest>({
      canShare: () => false,
      execute: (groups) => this.#execute(groups),
      inFlightMax,
      groupsMax: batchesMax,
      waitMsMax,
    })
  }

  write(operations: readonly WriteOperation[], isAtomic: boolean): Promise<BatchResult> {
    const copied = operations.map(copyTexts)
    const bytes = copied.reduce((sum, operation) => sum + Math.max(operationBytesMin, textBytes(operation)), 0)
    const request = { id: String(++this.#requests), bytes, sinceMs: performance.now(), operations: copied, isAtomic }
    return new Promise((resolve, reject) => this.#batcher.add({ ...request, resolve, reject }))
  }

  /** Resolves once no batch is gathered or in flight. */
  drained(): Promise<void> {
    return this.#batcher.drained()
  }

  async #execute(groups: readonly RequestGroup<BatchRequest>[]): Promise<void> {
    const requests = groups.map(([request]) => request)
    const sinceMs = oldestMs(groups)
    const results = await this.commits.count(
      requests.reduce((sum, { operations }) => sum + operations.length, 0),
      () => this.transact((statements) => executeBatches(statements, requests), sinceMs),
      (decided) => decided.some((result) => !isRefused(result) && !result.every(isRefusal)),
    )
    for (const [index, request] of requests.entries()) request.resolve(results[index] as BatchResult)
  }
}

function textBytes({ valueText, constraint }: WriteOperation): number {
  return (valueText?.length ?? 0) + (constraint?.kind === 'value' ? constraint.text.length : 0)
}

/** The operation, with copies of texts that are views into its request. */
function copyTexts(operation: WriteOperation): WriteOperation {
  const { constraint } = operation
  const copied = { ...operation, valueText: operation.valueText && Buffer.from(operation.valueText) }
  if (constraint?.kind !== 'value') return copied
  return { ...copied, constraint: { kind: 'value', text: Buffer.from(constraint.text) } }
}

async function executeBatches(
  statements: Statements,
  batches: readonly Pick<BatchRequest, 'operations' | 'isAtomic'>[],
): Promise<Transacted<readonly BatchResult[]>> {
  const generation = newGeneration()
  const all = batches.flatMap(({ operations }) => operations)
  const keys = keysOf(all)
  const locked = await statements.write(lockKeys, [bytesArray([...keys.values()]), generation])
  const absent = new Set(locked.map(({ key }) => key))
  const stored = await readStored(statements, all, keys, absent)
  const decisions = new BatchDecisions<Stored, WriteOperation>({
    stored: (path) => stored.get(path),
    valueText: ({ valueText }) => valueText,
    setterOf: (increment, valueText) => ({ ...increment, valueText: Buffer.from(valueText) }),
  })
  const results = batches.map(({ operations, isAtomic }) => decisions.decide(operations, isAtomic))
  const changes = [...decisions.changes()]
  if (changes.length > 0) await writeChanges(statements, changes, keys, absent, generation)
  return { result: results, commits: changes.length > 0 }
}

/** The key of each path, in the order in which rows are locked. */
function keysOf(operations: readonly WriteOperation[]): ReadonlyMap<Path, Buffer> {
  const paths = [...new Set(operations.map(({ path }) => path))]
  const keys = paths.map((path) => [path, encodeKey(path)] as const)
  return new Map(keys.sort(([, a], [, b]) => Buffer.compare(a, b)))
}

/** The topics that are there, by their paths. @param absent the keys, as columns, that have none */
async function readStored(
  { read }: Statements,
  operations: readonly WriteOperation[],
  keys: ReadonlyMap<Path, Buffer>,
  absent: ReadonlySet<string>,
): Promise<ReadonlyMap<Path, Stored>> {
  const present = [...keys].filter(([, key]) => !absent.has(columnOf(key)))
  if (present.length === 0) return new Map()
  const rows = await read(readTopics, [bytesArray(present.map(([, key]) => key))])
  const rowsByKey = new Map(rows.map((row) => [row.key, row]))
  const wanted: Wanted = { texts: textsByPath(operations), held: new Set(), numbers: new Map() }
  const stored = new Map<Path, Stored & { readonly bytes: number }>()
  for (const [path, key] of present) {
    const row = rowsByKey.get(columnOf(key))
    assert(row !== undefined, 'a row that is locked is there')
    const type = typeOfColumn(row.type)
    const bytes = Number(row.bytes)
    const hasValue = (): boolean => bytes > encodeItem(path, type, undefined).length
    const hasText = (text: Uint8Array): boolean => wanted.held.has(text)
    const version = Number(row.version)
    stored.set(path, {
      key,
      generation: row.generation,
      type,
      properties: propertiesOf(row.properties),
      bytes,
      hasValue,
      hasText,
      hasVersion: (constrained) => constrained === version,
      valueText: () => wanted.numbers.get(path),
    })
  }
  let slice: Path[] = []
  let sliceBytes = 0
  for (const [path, { bytes }] of stored) {
    if (!wanted.texts.has(path)) continue
    if (slice.length > 0 && sliceBytes + bytes > sliceBytesMax) {
      await readSlice(read, slice, stored, wanted)
      slice = []
      sliceBytes = 0
    }
    slice.push(path)
    sliceBytes += bytes
  }
  if (slice.length > 0) await readSlice(read, slice, stored, wanted)
  return stored
}

/** The texts that constraints compare with the value at each path; none for an increment. */
function textsByPath(operations: readonly WriteOperation[]): ReadonlyMap<Path, readonly Uint8Array[]> {
  const texts = new Map<Path, Uint8Array[]>()
  for (const { kind, path, constraint } of operations) {
    if (constraint?.kind !== 'value' && kind !== 'increment') continue
    const known = texts.get(path) ?? []
    texts.set(path, known)
    if (constraint?.kind === 'value') known.push(constraint.text)
  }
  return texts
}

/** Reads some items, and notes what is wanted of their values. */
async function readSlice(
  read: Statements['read'],
  paths: readonly Path[],
  stored: ReadonlyMap<Path, Stored>,
  { texts, held, numbers }: Wanted,
): Promise<void> {
  const topics = paths.map((path) => ({ path, topic: stored.get(path) as Stored }))
  const rows = await read(readItems, [bytesArray(topics.map(({ topic }) => topic.key))])
  const items = new Map(rows.map(({ key, item }) => [key, item]))
  for (const { path, topic } of topics) {
    const text = valueOfItem(Buffer.from(items.get(columnOf(topic.key)) ?? ''), path, topic.type)
    if (text === undefined) continue
    if (text.length <= numberTextMax) numbers.set(path, text)
    const value = new ValueText(text)
    for (const wanted of texts.get(path) ?? []) if (value.is(wanted)) held.add(wanted)
  }
}

async function writeChanges(
  { write, log }: Statements,
  changes: readonly TopicChange[],
  keys: ReadonlyMap<Path, Buffer>,
  absent: ReadonlySet<string>,
  generation: string,
): Promise<void> {
  const keyOf = ({ path }: TopicChange): Buffer => keys.get(path) as Buffer
  const created: NewTopic[] = []
  const updated: { readonly stored: Stored; readonly item: Buffer }[] = []
  for (const change of changes) {
    const { path, stored, creator, setter } = change
    if (creator !== undefined) created.push(newTopic(creator, setter?.valueText, keyOf(change)))
    else if (stored !== undefined && setter !== undefined) {
      updated.push({ stored, item: encodeItem(path, stored.type, setter.valueText) })
    }
  }
  const createdKeys = new Set(created.map(([{ key }]) => columnOf(key)))
  const removedKeys = changes.filter(({ isRemoved, creator }) => isRemoved && creator === undefined).map(keyOf)
  const placeholders = [...keys.values()].filter((key) => {
    const column = columnOf(key)
    return absent.has(column) && !createdKeys.has(column)
  })
  const changed: ChangedRow[] = []
  const change = async (
    statement: Statement<ChangedRow>,
    wanted: readonly unknown[],
    parameters: readonly Parameter[],
  ): Promise<void> => {
    const rows = await write(statement, parameters)
    expectAll(wanted, rows)
    changed.push(...rows)
  }
  if (created.length > 0) await change(changeTopics, created, creationParameters(created, generation))
  if (updated.length > 0) {
    const parameters = [
      bytesArray(updated.map(({ stored }) => stored.key)),
      plainArray(updated.map(({ stored }) => stored.generation)),
      textArray(updated.map(({ item }) => item)),
    ]
    await change(overwriteSame.plain, updated, parameters)
  }
  const deleted = [...removedKeys, ...placeholders]
  if (deleted.length > 0) await change(removeTopics.plain, deleted, [bytesArray(deleted)])
  const unchanged = new Set(placeholders.map(columnOf))
  await log(changed.filter(({ key }) => !unchanged.has(key)))
}

/** Rows that are locked cannot have changed; if one has, the engine's locks are not what they are taken for. */
function expectAll(wanted: readonly unknown[], { length }: readonly unknown[]): void {
  assert(length === wanted.length, `a statement changed ${length} locked rows instead of ${wanted.length}`)
}

/** A topic to create, as `creationParameters` takes it. */
type NewTopic = Parameters<typeof creationParameters>[0][number]

function newTopic(creation: Creation, valueText: Uint8Array | undefined, key: Buffer): NewTopic {
  const { path, type, properties } = creation
  const kept = retainsValue(properties) ? valueText : undefined
  return [{ key, creation, properties: columnOfProperties(properties) }, encodeItem(path, type, kept)]
}
