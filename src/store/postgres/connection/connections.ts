/**
 * Executes statements on the engine: chooses the session, the time limit and the number of attempts. Each statement is its own
 * transaction, except in a snapshot and in `transact`. A statement that lost a conflict with another is retried a few times. If the
 * connection is lost, a read, or the whole work of `readAtOnce`, is repeated once. failures.ts defines the meaning of a failure.
 *
 * After a failure, a session is reused if its statement lost a conflict, was stale or started too late. After a write that was not
 * answered in time, the session is reused once the write is answered. Otherwise the session is closed.
 *
 * Reads and writes have separate sessions: while a standby is offline, every write waits for it, but reads must not wait.
 *
 * A write's time is bounded: its statement refuses to start later than `beginMsMax` after its request, and the engine aborts it
 * `statementMsMax` after its start. Only the commit itself is unbounded: it may wait for an offline standby.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { commitDeadlineMs } from '../../../settings/limits.js'
import { StoreError } from '../../errors.js'
import type { Execute, Parameter, Statement } from '../sql/statement.js'
import { Engine } from './engine.js'
import { Defect, meaningOf, readFailure, writeFailure } from './failures.js'
import { Pool } from './pool.js'
import { type Session, TimedOut, Warned } from './session.js'

const begin: Statement<never> = { name: 'begin', text: 'begin transaction isolation level read committed' }
const beginSnapshot: Statement<never> = {
  name: 'begin_snapshot',
  text: 'begin transaction isolation level repeatable read, read only',
}
const commit: Statement<never> = { name: 'commit', text: 'commit' }
const rollback: Statement<never> = { name: 'rollback', text: 'rollback' }

/** Of the given backends, returns those that are still executing a statement. */
const readBackends: Statement<{ pid: string }> = {
  name: 'read_backends',
  text: `select pid from pg_stat_activity where pid = any($1::int[]) and state is distinct from 'idle'`,
}

/**
 * The work of a transaction. `write` appends a last parameter to those of a statement: the latest time of its start
 * (`inTime`).
 *
 * @returns the result, and whether to commit; otherwise the transaction is rolled back
 */
type TransactionWork<T> = (statements: {
  readonly read: Execute
  readonly write: Execute
}) => Promise<{ readonly result: T; readonly commits: boolean }>

/** A read-only transaction at one point in time. Until closed, it occupies a session and keeps rows that others remove. */
interface Snapshot {
  /** @throws StoreError `unavailable` if the engine is lost */
  readonly read: Execute
  /** Ends the transaction and returns the session. */
  readonly close: () => Promise<void>
}

/** Maximum sessions per process: as many as its batches and scans can use at the same time. */
const readersMax = 8
const writersMax = 8

/** One host's share of the engine's sessions, which leaves room for a second host and a person with psql. */
const hostShare = 0.4

/** Maximum time between a request and the start of its write, in ms. */
export const beginMsMax = 4000

/** The engine aborts a write's statement after this time, in ms: a write is executed within 8 s or not at all. */
const statementMsMax = 4000

/**
 * Maximum idle time of a session for writes within a transaction, in ms: it holds the commit lock, for which all hosts wait up to
 * `statementMsMax`. If its process is frozen or its link is cut, the engine rolls back sooner than that.
 */
const writerIdleMsMax = 2000

/** Maximum time, in ms, that the engine waits for a session to take rows: its other limits do not cover that wait. Over TCP only. */
const writerUnreadMsMax = 4000

const writerLimits = { statementMsMax, idleMsMax: writerIdleMsMax, unreadMsMax: writerUnreadMsMax }

/** Limits of sessions for reads. A statement reads up to 8 MiB of rows; between statements, a snapshot waits until its rows are taken. */
const readerLimits = { statementMsMax: 8000, idleMsMax: 60_000, unreadMsMax: 0 }

/** Minimum wait for the response to a write that was sent, in ms, even if its deadline is earlier. */
const answerMsMin = 1000

/** Maximum age of a reading of the engine's clock, in ms: within this time, two clocks drift a few ms apart, unless one is set. */
const clockMsMax = 60_000

/** Maximum attempts at a statement that loses conflicts with others (a serialization failure, a deadlock). */
const attemptsMax = 10

/** The maximum wait before the second attempt is twice this, in ms; it doubles with each attempt. */
const backoffMs = 4

/** The time by which a write must start, on the clock of the session's engine. */
function beginByMs(session: Session, sinceMs: number): number {
  return Math.floor(sinceMs + session.clockOffsetMs + beginMsMax)
}

/** The maximum response time for a write's statement that is sent now. */
function answerMsMax(sinceMs: number): number {
  return Math.max(answerMsMin, Math.ceil(sinceMs + commitDeadlineMs - performance.now()))
}

/** True if repeating a read may help. After a timeout, it would be late again. */
function isLost(error: unknown): boolean {
  return meaningOf(error) === 'lost' && !(error instanceof TimedOut)
}

/** True if a write was rejected as late although there was time: the engine's clock, which has been read again since, has stepped. */
function isEarly(sinceMs: number): (error: unknown) => boolean {
  return (error) => meaningOf(error) === 'late' && performance.now() - sinceMs < beginMsMax / 2
}

/** Retries conflicts a few times, and the first failure if `isRepeated` accepts it. @throws the last failure, converted by `failureFor` */
async function untilNoConflict<T>(
  attemptOnce: () => Promise<T>,
  isRepeated: (error: unknown) => boolean,
  failureFor: typeof writeFailure,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await attemptOnce()
    } catch (error) {
      if (attempt === 1 && isRepeated(error)) continue
      const meaning = meaningOf(error)
      if (meaning !== 'conflict' || attempt === attemptsMax) throw failureFor(error, meaning)
      await sleep(Math.random() * backoffMs * 2 ** attempt)
    }
  }
}

function deposedDuringRead(): Error {
  return new Error('the PostgreSQL server was deposed during the read')
}

export class Connections {
  readonly #engine: Engine
  readonly #readers: Pool
  readonly #writers: Pool
  /** Sessions that the engine allows this role, as the last session reported. */
  #slots: number | undefined

  /**
   * @param address a postgres:// URL; the PG… environment variables provide omitted parts
   * @param sharers the number of processes on this host that divide the host's share of the engine's sessions
   */
  constructor(
    address: string,
    private readonly sharers: number,
  ) {
    this.#engine = new Engine(address)
    this.#readers = new Pool(this.#engine, () => this.#sizeMax(readersMax), readerLimits)
    this.#writers = new Pool(
      this.#engine,
      () => this.#sizeMax(writersMax),
      writerLimits,
      async (backends) => {
        const rows = await this.#readOnce(readBackends, [`{${backends.join()}}`])
        return new Set(rows.map(({ pid }) => Number(pid)))
      },
    )
  }

  get failure(): StoreError | undefined {
    return this.#readers.failure ?? this.#writers.failure
  }

  /** The timeline of the newest primary seen so far: each primary has its own. A field, so that it can be passed as a plain function. */
  readonly timeline = (): number => this.#engine.timeline

  /** Executes a statement that changes nothing. @throws StoreError `unavailable` if the engine is unreachable */
  readonly read: Execute = (statement, parameters) =>
    untilNoConflict(() => this.#readOnce(statement, parameters), isLost, readFailure)

  /**
   * Executes a statement, and appends its last parameter: the latest time of its start (`inTime`). When the promise
   * resolves, the changes are durable.
   *
   * @param sinceMs the time of the request, by performance.now(), from which its time limits count; now by default
   * @throws StoreError of any kind; `unknown_outcome` if the engine gave no reliable answer
   */
  readonly write = <Row>(
    statement: Statement<Row>,
    parameters: readonly Parameter[],
    sinceMs = performance.now(),
  ): Promise<readonly Row[]> =>
    untilNoConflict(() => this.#writeOnce(statement, parameters, sinceMs), isEarly(sinceMs), writeFailure)

  /**
   * Executes statements in one transaction, and commits it if `work` returns `commits: true`; otherwise rolls it back. `work` may
   * be called again after a conflict.
   *
   * @param sinceMs as for `write`
   * @throws StoreError of any kind; `unknown_outcome` only if the commit got no reliable answer
   */
  readonly transact = <T>(work: TransactionWork<T>, sinceMs: number): Promise<T> =>
    untilNoConflict(() => this.#transactOnce(work, sinceMs), isEarly(sinceMs), writeFailure)

  /** Opens a snapshot, which the caller closes. @throws StoreError `unavailable` if the engine is unreachable */
  readonly openSnapshot = async (): Promise<Snapshot> => this.#openSnapshot(await this.#acquire(this.#readers))

  /**
   * Reads one snapshot, in its own transaction. If the connection is lost, reads a later snapshot instead: otherwise a single lost
   * session would end all streams of this process.
   *
   * @param work must start over if it is called a second time
   * @throws the error of `work`; StoreError `unavailable` if the engine is unreachable, or was deposed in the meantime
   */
  readonly readAtOnce = async <T>(work: (read: Execute) => T | Promise<T>): Promise<T> => {
    const readOnce = async (): Promise<T> => {
      const session = await this.#acquire(this.#readers)
      const { read, close } = await this.#openSnapshot(session)
      const result = await (async () => work(read))().finally(close)
      if (this.#engine.isCurrent(session)) return result
      throw readFailure(deposedDuringRead(), 'lost')
    }
    return readOnce().catch((error: unknown) => {
      if (error instanceof StoreError && error.cause !== undefined && isLost(error.cause)) return readOnce()
      throw error
    })
  }

  /** Executes any number of statements, given as one string, in one transaction, unprepared and without a time limit. */
  async define(text: string): Promise<void> {
    const session = await this.#acquire(this.#writers)
    try {
      // Creating an index on a large tree takes a long time. Behind a pooler, the setting must not outlive the transaction.
      await session.define(`begin; set local statement_timeout = 0; ${text}; commit`)
    } finally {
      this.#writers.discard(session)
    }
  }

  /** See `Pool.close`. */
  async close(): Promise<void> {
    this.#engine.close()
    await Promise.all([this.#readers.close(), this.#writers.close()])
  }

  /** This process's part of its host's share: at least one session for reads and one for writes. */
  #sizeMax(most: number): number {
    if (this.#slots === undefined) return most
    return Math.min(most, Math.max(1, Math.floor((this.#slots * hostShare) / this.sharers / 2)))
  }

  async #acquire(pool: Pool): Promise<Session> {
    const session = await pool.acquire()
    this.#slots = session.slots
    return session
  }

  async #openSnapshot(session: Session): Promise<Snapshot> {
    let isLost = false
    const read: Execute = async (statement, parameters) => {
      try {
        return await session.execute(statement, parameters, commitDeadlineMs)
      } catch (error) {
        isLost = true
        throw readFailure(error, meaningOf(error))
      }
    }
    const close = async (): Promise<void> => {
      if (!isLost) await read(commit, []).catch(() => {})
      if (isLost) this.#readers.discard(session)
      else this.#readers.release(session)
    }
    await read(beginSnapshot, []).catch(async (error: unknown) => {
      await close()
      throw error
    })
    return { read, close }
  }

  async #readOnce<Row>(statement: Statement<Row>, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    const session = await this.#acquire(this.#readers)
    try {
      const rows = await session.execute(statement, parameters, commitDeadlineMs)
      // Results of a deposed primary may be outdated, so read again from its successor.
      if (!this.#engine.isCurrent(session)) throw deposedDuringRead()
      this.#readers.release(session)
      return rows
    } catch (error) {
      if (meaningOf(error) === 'conflict') this.#readers.release(session)
      else this.#readers.discard(session)
      throw error
    }
  }

  /** A failure before the commit is sent leaves everything unchanged. @throws Defect for an error thrown by `work` itself */
  async #transactOnce<T>(work: TransactionWork<T>, sinceMs: number): Promise<T> {
    const session = await this.#acquire(this.#writers)
    const beginBy = beginByMs(session, sinceMs)
    let failure: unknown
    let isCommitting = false
    const read: Execute = (statement, parameters) =>
      session.change(statement, parameters, answerMsMax(sinceMs)).catch((error: unknown) => {
        failure = error
        throw error
      })
    const write: Execute = (statement, parameters) => read(statement, [...parameters, beginBy])
    try {
      await read(begin, [])
      const { result, commits } = await work({ read, write }).catch((error: unknown) => {
        if (error === failure) throw error
        throw new Defect(`a transaction failed: ${(error as Error).message}`, { cause: error })
      })
      isCommitting = commits
      await read(commits ? commit : rollback, [])
      this.#takeBack(session)
      return result
    } catch (error) {
      const meaning = meaningOf(error)
      const isOpen = !isCommitting && (meaning === 'conflict' || meaning === 'stale' || meaning === 'late')
      const rolledBack = isOpen && (await session.execute(rollback, [], answerMsMax(sinceMs)).catch(() => false))
      if (rolledBack !== false) await this.#readClockAndRelease(session)
      else if (isCommitting && error instanceof TimedOut) this.#writers.giveUp(session)
      else this.#writers.discard(session)
      throw meaning === 'lost' && !isCommitting ? readFailure(error, meaning) : error
    }
  }

  async #writeOnce<Row>(
    statement: Statement<Row>,
    parameters: readonly Parameter[],
    sinceMs: number,
  ): Promise<readonly Row[]> {
    const session = await this.#acquire(this.#writers)
    try {
      const timed = [...parameters, beginByMs(session, sinceMs)]
      const rows = await session.change(statement, timed, answerMsMax(sinceMs))
      this.#takeBack(session)
      return rows
    } catch (error) {
      const meaning = meaningOf(error)
      if (meaning === 'conflict' || meaning === 'stale') this.#writers.release(session)
      else if (meaning === 'late') await this.#readClockAndRelease(session)
      else if (error instanceof TimedOut) this.#writers.giveUp(session)
      else this.#writers.discard(session)
      throw error
    }
  }

  /** Takes back a session that has committed. @throws Warned if its engine was deposed in the meantime */
  #takeBack(session: Session): void {
    if (!this.#engine.isCurrent(session)) throw new Warned('the PostgreSQL server was deposed while it committed')
    if (performance.now() - session.clockReadAtMs < clockMsMax) this.#writers.release(session)
    else void this.#readClockAndRelease(session)
  }

  async #readClockAndRelease(session: Session): Promise<void> {
    try {
      await session.readClock(commitDeadlineMs)
      this.#writers.release(session)
    } catch {
      this.#writers.discard(session)
    }
  }
}
