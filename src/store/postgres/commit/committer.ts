/**
 * The commits of this process. Requests that arrive while a commit is in flight share the next commit. Requests are decided here
 * (core/write/), based on this process's knowledge of their topics. The engine makes the changes only if that knowledge is still
 * correct (function.ts). If it is not, or if a request depends on other data, the requests are decided while this process holds the
 * commit lock.
 */
import { strict as assert } from 'node:assert'
import type { Moment } from '../../../base/clock.js'
import { createHistogram, secondsBounds } from '../../../base/histogram.js'
import type { Path } from '../../../topics/path.js'
import type { TopicType } from '../../../topics/topic.js'
import { decider, needsOf, type Outcome, type Request } from '../../core/write/group.js'
import type { LoggedRecord, NeededPart, NeededTopic, Needs, RecordTable, Stored, StoredTopic } from '../../engine.js'
import { StoreError } from '../../errors.js'
import { batchBounds, type CommitStats } from '../../monitoring.js'
import { type Request as BatchedRequest, Batcher, type PutBack, type RequestGroup } from '../connection/batcher.js'
import { beginMsMax, type Connections } from '../connection/connections.js'
import { stateOf } from '../connection/session.js'
import { putRecords, readRecords } from '../records.js'
import { momentOf } from '../sql/columns.js'
import { type Execute, staleState } from '../sql/statement.js'
import { CommitChanges } from './changes.js'
import { type CommitRow, callCommit } from './function.js'
import { createHeadCache, type Known, readInOrder, readTopics } from './heads.js'

/**
 * Maximum operations per commit; the last request may exceed it. They take the engine a few ms, during which no other process
 * commits. The batcher limits the bytes per commit.
 */
const operationsMax = 1000

/** The longest that a request may wait for its commit, in ms: after a longer wait, the commit would probably start too late. */
const waitMsMax = 3000

/**
 * Maximum bytes of items read to decide a commit: a larger group is divided, a larger request rejected. All of them are in memory
 * at the same time, and are compared without a pause, within a second.
 */
const itemBytesMax = 128 * 1024 * 1024

/**
 * After a stale commit, this many of the next commits that depend on values take the commit lock immediately. Otherwise, if several
 * hosts increment or compare the same topic, two out of three commits would be stale.
 */
const orderedAfterStale = 16

interface Write extends BatchedRequest {
  readonly request: Request
  readonly needs: Needs
  readonly operations: number
  readonly sinceMs: number
  /** The deadline, in ms of performance.now(). */
  readonly byMs: number
  resolve(outcome: Outcome): void
}

interface Decided {
  readonly changes: CommitChanges
  readonly settle: readonly (() => void)[]
}

interface Committed extends Decided {
  /** The engine's result for the commit; undefined if nothing changed. */
  readonly row?: CommitRow
}

export class Committer {
  readonly #cache = createHeadCache()
  readonly #seconds = createHistogram(secondsBounds)
  readonly #batches = createHistogram(batchBounds)
  /** Of the next commits that depend on values, the number that take the commit lock immediately. */
  #orderedNext = 0
  readonly #counts = { writes: 0, failed: 0, inFlight: 0 }
  readonly #batcher = new Batcher<Write>((...batch) => this.#commitFirst(...batch), 1, operationsMax)

  readonly stats: CommitStats = Object.assign(this.#counts, { seconds: this.#seconds, batches: this.#batches })

  /** @param onCommitted called after each commit that changed topics, with its record in the log */
  constructor(
    private readonly connections: Pick<Connections, 'read' | 'write' | 'transact'>,
    private readonly onCommitted: (record: LoggedRecord) => void,
  ) {}

  /**
   * Executes a request in a later commit.
   *
   * @param byMs the deadline for executing it, in ms of performance.now()
   * @throws StoreError; an error thrown by the decision, unchanged
   */
  commit(request: Request, byMs = Number.POSITIVE_INFINITY): Promise<Outcome> {
    const { operations, bytes } = decider.sizeOf(request)
    const needs = needsOf(request)
    const sinceMs = Math.min(performance.now(), byMs - beginMsMax)
    this.#counts.inFlight += operations
    return new Promise((resolve, reject) =>
      this.#batcher.add({ id: request, bytes, request, needs, operations, sinceMs, byMs, resolve, reject }),
    )
  }

  /** Resolves once nothing waits or is in flight. */
  drained(): Promise<void> {
    return this.#batcher.drained()
  }

  /**
   * Commits as many of the first requests as fit in one commit, and rejects those that have waited too long. Requests with
   * different deadlines do not share a commit: the earliest deadline would apply to all.
   */
  async #commitFirst(groups: readonly RequestGroup<Write>[], putBack: PutBack<Write>): Promise<void> {
    const oldestMs = performance.now() - waitMsMax
    const late = `the PostgreSQL server was busy with other requests for ${waitMsMax / 1000} s`
    const group: Write[] = []
    let operations = 0
    for (const writes of groups) {
      for (const write of writes) {
        if (write.sinceMs < oldestMs) {
          this.#counts.inFlight -= write.operations
          write.reject(new StoreError('unavailable', late))
        } else if (operations >= operationsMax || write.byMs !== (group[0] ?? write).byMs) putBack(write)
        else {
          group.push(write)
          operations += write.operations
        }
      }
    }
    if (group.length > 0) await this.#commitGroup(group)
  }

  /** Commits a group and settles its requests; if their items are too large together, commits it in halves. */
  async #commitGroup(group: readonly Write[]): Promise<void> {
    const operations = group.reduce((sum, write) => sum + write.operations, 0)
    const needed = neededBy(group)
    const startedMs = performance.now()
    try {
      const committed = await this.#commit(group, needed)
      if (committed === undefined) {
        const half = Math.ceil(group.length / 2)
        await this.#commitGroup(group.slice(0, half))
        return await this.#commitGroup(group.slice(half))
      }
      this.#counts.inFlight -= operations
      const { changes, row, settle } = committed
      if (row !== undefined) {
        this.#counts.writes += operations
        this.#seconds.record((performance.now() - startedMs) / 1000)
        this.#batches.record(operations)
      }
      for (const settleOne of settle) settleOne()
      const record = row && changes.record(row)
      // Runs outside this `try`: a follower's defect must not fail the commit.
      if (record !== undefined) queueMicrotask(() => this.onCommitted(record))
    } catch (error) {
      this.#forget(needed)
      this.#counts.inFlight -= operations
      this.#counts.writes += operations
      this.#counts.failed += operations
      for (const { reject } of group) reject(error)
    }
  }

  /** @returns undefined if the group must be divided */
  async #commit(group: readonly Write[], needed: readonly NeededTopic[]): Promise<Committed | undefined> {
    const sinceMs = Math.min(...group.map((write) => write.sinceMs))
    if (!group.some(needsOrder) && !this.#isContended(needed)) {
      const committed = await this.#commitOnKnown(group, needed, sinceMs)
      if (committed !== 'stale') return committed
      this.#orderedNext = orderedAfterStale
    }
    return this.#commitInOrder(group, needed, sinceMs)
  }

  /** True if another host will probably change a topic that the group depends on before the group commits. */
  #isContended(needed: readonly NeededTopic[]): boolean {
    return needed.some(({ reads }) => reads !== 'constants') && this.#orderedNext-- > 0
  }

  /** Decides based on known and freshly read topics, and commits if they are still current. */
  async #commitOnKnown(
    group: readonly Write[],
    needed: readonly NeededTopic[],
    sinceMs: number,
  ): Promise<Committed | undefined | 'stale'> {
    const { read, write } = this.connections
    const cached: Known = new Map()
    for (const { path, reads } of needed) {
      const found = reads === 'constants' ? this.#cache.get(path) : undefined
      if (found !== undefined) cached.set(path, found.topic)
    }
    const missing = needed.filter(({ path }) => !cached.has(path))
    let known = new Map([...cached, ...(await readTopics(read, missing, itemBytesMax))])
    let decided = decideOnKnown(group, known)
    // The engine does not check a commit without changes, so such a decision must not be based on cached topics.
    if (decided.changes.isEmpty && cached.size > 0) {
      known = await readTopics(read, needed, itemBytesMax)
      decided = decideOnKnown(group, known)
    }
    if (isCut(known)) return undefinedOrRefused(group)
    if (decided.changes.isEmpty) return decided
    try {
      const [row] = await write(callCommit, decided.changes.parameters(needed, known), sinceMs)
      return this.#committed(decided, needed, known, row as CommitRow)
    } catch (error) {
      if (stateOf(error) !== staleState) throw error
      this.#forget(needed)
      return 'stale'
    }
  }

  /** Decides and commits while no other process commits. */
  async #commitInOrder(
    group: readonly Write[],
    needed: readonly NeededTopic[],
    sinceMs: number,
  ): Promise<Committed | undefined> {
    const committed = await this.connections.transact(async ({ read, write }) => {
      const { known, moment } = await readInOrder(read, needed, itemBytesMax)
      const decided = decide(group, new StoredRows(known, await readNeeded(read, group)), moment)
      const { changes } = decided
      const isChanged = !changes.isEmpty || changes.records.length > 0
      if (isCut(known) || !isChanged) return { result: { decided, known, row: undefined }, commits: false }
      const [row] = await write(callCommit, changes.parameters(needed, known))
      await putRecords(read, changes.records)
      return { result: { decided, known, row }, commits: true }
    }, sinceMs)
    const { decided, known, row } = committed
    if (isCut(known)) return undefinedOrRefused(group)
    return row === undefined ? decided : this.#committed(decided, needed, known, row)
  }

  #committed(decided: Decided, needed: readonly NeededTopic[], known: Known, row: CommitRow): Committed {
    const { changes } = decided
    changes.tellVersions(row)
    for (const { path, reads } of needed) if (reads === 'constants') this.#cache.set(path, { topic: known.get(path) })
    for (const [path, topic] of changes.after()) this.#cache.set(path, { topic })
    return { ...decided, row }
  }

  #forget(needed: readonly NeededTopic[]): void {
    for (const { path } of needed) this.#cache.delete(path)
  }
}

/** The rows read for the decisions of a group. */
class StoredRows implements Stored {
  constructor(
    private readonly known: Known,
    private readonly needed: Needed = new Map(),
  ) {}

  topic(path: Path, type: TopicType | undefined): StoredTopic | undefined {
    assert(this.known.has(path), 'a topic is decided on that no request needs')
    const topic = this.known.get(path)
    return type === undefined || topic?.type === type ? topic : undefined
  }

  record(table: RecordTable, name: string): Buffer | undefined {
    return this.needed.get(table)?.get(name)
  }

  records(table: RecordTable): readonly (readonly [string, Buffer])[] {
    return [...(this.needed.get(table) ?? [])]
  }
}

/** True if a request needs the commit lock: it is not a batch of operations, or the engine does not check its premises. */
function needsOrder({ request, needs }: Write): boolean {
  return !('operations' in request) || needs.records.length > 0 || needs.topics.length === 0
}

/** Uses this machine's time: no decision based on known topics depends on it. */
function decideOnKnown(group: readonly Write[], known: Known): Decided {
  return decide(group, new StoredRows(known), momentOf(Date.now()))
}

function decide(group: readonly Write[], stored: StoredRows, moment: Moment): Decided {
  const decisions = decider.begin(stored, moment)
  const settle = group.map(({ request, resolve, reject }) => {
    try {
      const outcome = decisions.decide(request)
      return () => resolve(outcome)
    } catch (error) {
      return () => reject(error)
    }
  })
  const changes = new CommitChanges(moment)
  decisions.end(changes)
  return { changes, settle }
}

const parts: readonly NeededPart[] = ['constants', 'version', 'item']

/** Each topic that a group needs, listed once, with the largest part of it that is read. */
function neededBy(group: readonly Write[]): readonly NeededTopic[] {
  const needed = new Map<Path, NeededTopic>()
  for (const { needs } of group) {
    for (const topic of needs.topics) {
      const former = needed.get(topic.path)
      if (former === undefined || parts.indexOf(topic.reads) > parts.indexOf(former.reads))
        needed.set(topic.path, topic)
    }
  }
  return [...needed.values()]
}

function isCut(known: Known): boolean {
  return [...known.values()].some((topic) => topic?.isCut === true)
}

/** Returns undefined, so that the group is divided. @throws StoreError if it is a single request */
function undefinedOrRefused(group: readonly Write[]): undefined {
  if (group.length === 1) throw new StoreError('retry', 'a request compares too many long values')
  return undefined
}

type Needed = ReadonlyMap<RecordTable, ReadonlyMap<string, Buffer>>

async function readNeeded(read: Execute, group: readonly Write[]): Promise<Needed> {
  const records = new Map<RecordTable, ReadonlyMap<string, Buffer>>()
  for (const table of new Set(group.flatMap(({ needs }) => needs.records)))
    records.set(table, new Map(await readRecords(read, table)))
  return records
}
