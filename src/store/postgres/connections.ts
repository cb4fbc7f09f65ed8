/**
 * Carrying out statements on the engine, and what a failed one means. Each statement is a transaction of its own; only a
 * snapshot holds one open. A statement that lost against another is made again, a few times; one that only reads is made
 * again when its connection is lost. A connection that failed in any other way is never used again.
 *
 * Reads and writes have connections of their own: while a standby is away every write waits for it, and fetches must not.
 *
 * When a write may be carried out is bounded: its statement refuses to begin `beginMsMax` after it was asked for, and the
 * engine ends it `statementMsMax` after it began. Only the commit itself has no bound: it may wait for a standby that is away.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { commitDeadlineMs } from '../../limits.js'
import { StoreError } from '../store.js'
import { Engine } from './engine.js'
import { Pool } from './pool.js'
import { isPlainError, type Session, stateOf, TimedOut, Warned } from './session.js'
import { type Execute, lateState, type Parameter, type Statement } from './statement.js'

export interface Connections {
  /**
   * Carries out a statement that changes nothing.
   *
   * @throws StoreError `unavailable` when the engine cannot be reached
   */
  readonly read: Execute
  /**
   * Carries out a statement that ends in `inTime`, whose moment is appended to the parameters. When it resolves, what it
   * changed is durable.
   *
   * @param sinceMs when it was asked for, by performance.now(), from where its bounds are counted; now unless told
   * @throws StoreError of every kind; of `unknown_outcome` when the engine did not answer, or not for sure
   */
  readonly write: Write
  /** A transaction that reads, all of it from one moment. */
  openSnapshot(): Promise<Snapshot>
  /** Carries out text with any number of statements, unprepared, however long they take. */
  define(text: string): Promise<void>
  /** Why the engine cannot be used at the moment; undefined while it can. */
  failure(): StoreError | undefined
  /** The timeline of the newest primary that was seen: another one is another primary. */
  timeline(): number
  close(): Promise<void>
}

export type Write = <Row>(
  statement: Statement<Row>,
  parameters: readonly Parameter[],
  sinceMs?: number,
) => Promise<readonly Row[]>

export interface Snapshot {
  readonly read: Execute
  close(): Promise<void>
}

/** Connections of one process at most: as many as its batches and scans can use at once. */
const readersMax = 8
const writersMax = 8

/** What one host takes of the sessions that the engine has for everybody, so that two hosts and a person with psql fit. */
const hostShare = 0.4

/** How long after it was asked for a write may begin, in ms. */
const beginMsMax = 4000

/** The engine ends a statement after this long, in ms: a write is carried out within 8 s or not at all. */
const statementMsMax = 4000

/** A statement of a scan or a snapshot reads up to 8 MiB of rows. */
const readMsMax = 8000

/** A write that was waited for until its answer was due is waited for a moment more once it is sent, in ms. */
const answerMsMin = 1000

/** How old a look at the engine's clock may be, in ms: two clocks that nobody sets drift apart by some ms in it. */
const clockMsMax = 60_000

/** How often a statement is made that loses against others (a serialization failure, a deadlock). */
const attemptsMax = 10

/** The longest wait before the second attempt, in ms; it doubles with each. */
const backoffMs = 4

/** Between two looks at what has become of the statements that were given up, in ms. */
const reapMs = 1000

/** The backends of sessions that were given up which still work. One that is idle has answered, and the answer was lost. */
const readBackends: Statement<{ pid: string }> = {
  name: 'read_backends',
  text: `select pid from pg_stat_activity where pid = any($1::int[]) and state is distinct from 'idle'`,
}

/**
 * @param address a postgres:// URL; what it leaves out comes from the PG… variables of the environment
 * @param sharers processes of this host that share what it takes of the engine's sessions
 */
export function createConnections(address: string, sharers: number): Connections {
  const engine = new Engine(address)
  let slots: number | undefined

  /** This process's part of the host's share: one session for reads and one for writes at least. */
  const sizeMax = (most: number) => (): number => {
    if (slots === undefined) return most
    return Math.min(most, Math.max(1, Math.floor((slots * hostShare) / sharers / 2)))
  }
  const readers = new Pool(engine, sizeMax(readersMax), readMsMax)
  const writers = new Pool(engine, sizeMax(writersMax), statementMsMax)

  async function acquire(pool: Pool): Promise<Session> {
    const session = await pool.acquire()
    slots = session.slots
    return session
  }

  async function readOnce<Row>(statement: Statement<Row>, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    const session = await acquire(readers)
    try {
      const rows = await session.execute(statement, parameters, commitDeadlineMs)
      // What a deposed primary says may be out of date; its successor is asked.
      if (!engine.isCurrent(session)) throw new Error('the engine was deposed meanwhile')
      readers.release(session)
      return rows
    } catch (error) {
      if (meaningOf(error) === 'conflict') readers.release(session)
      else readers.discard(session)
      throw error
    }
  }

  async function writeOnce<Row>(
    statement: Statement<Row>,
    parameters: readonly Parameter[],
    sinceMs: number,
  ): Promise<readonly Row[]> {
    const session = await acquire(writers)
    try {
      const moment = Math.floor(sinceMs + session.clockOffsetMs + beginMsMax)
      const leftMs = Math.max(answerMsMin, Math.ceil(sinceMs + commitDeadlineMs - performance.now()))
      const rows = await session.change(statement, [...parameters, moment], leftMs)
      if (!engine.isCurrent(session)) throw new Warned('the engine was deposed while it committed')
      if (performance.now() - session.clockSeenMs < clockMsMax) writers.release(session)
      else void seeClock(session)
      return rows
    } catch (error) {
      if (meaningOf(error) === 'conflict') writers.release(session)
      else if (meaningOf(error) === 'late') await seeClock(session)
      else if (error instanceof TimedOut) giveUp(session)
      else writers.discard(session)
      throw error
    }
  }

  /** Looks at the engine's clock and gives the session back. */
  async function seeClock(session: Session): Promise<void> {
    try {
      await session.seeClock(commitDeadlineMs)
      writers.release(session)
    } catch {
      writers.discard(session)
    }
  }

  let reaping: NodeJS.Timeout | undefined
  function giveUp(session: Session): void {
    writers.giveUp(session)
    reaping ??= setTimeout(() => void reap(), reapMs).unref()
  }

  /** Ends the sessions that were given up whose backends work no more. */
  async function reap(): Promise<void> {
    try {
      const asked = writers.givenUp
      const rows = await readOnce(readBackends, [`{${asked.map(({ backendId }) => backendId).join()}}`])
      const working = new Set(rows.map(({ pid }) => Number(pid)))
      // One that was answered meanwhile may be in use again.
      const left = new Set(writers.givenUp)
      for (const session of asked) if (left.has(session) && !working.has(session.backendId)) writers.discard(session)
    } catch {
      // An engine that cannot be asked may not have ended them either.
    }
    reaping = writers.givenUp.length === 0 ? undefined : setTimeout(() => void reap(), reapMs).unref()
  }

  async function read<Row>(statement: Statement<Row>, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await readOnce(statement, parameters)
      } catch (error) {
        const meaning = meaningOf(error)
        // One that was not answered in time would not be in time a second time either.
        if (meaning === 'lost' && attempt === 1 && !(error instanceof TimedOut)) continue
        if (meaning !== 'conflict' || attempt === attemptsMax)
          throw failure(error, meaning === 'lost' ? 'unavailable' : meaning)
        await sleep(Math.random() * backoffMs * 2 ** attempt)
      }
    }
  }

  const write: Write = async (statement, parameters, sinceMs = performance.now()) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await writeOnce(statement, parameters, sinceMs)
      } catch (error) {
        const meaning = meaningOf(error)
        // Refused although there was time: the engine's clock has stepped. It has been looked at since.
        if (meaning === 'late' && attempt === 1 && performance.now() - sinceMs < beginMsMax / 2) continue
        if (meaning !== 'conflict' || attempt === attemptsMax) throw failure(error, meaning)
        await sleep(Math.random() * backoffMs * 2 ** attempt)
      }
    }
  }

  async function openSnapshot(): Promise<Snapshot> {
    const session = await acquire(readers)
    let sound = true
    const readInSnapshot: Execute = async (statement, parameters) => {
      try {
        return await session.execute(statement, parameters, commitDeadlineMs)
      } catch (error) {
        sound = false
        const meaning = meaningOf(error)
        throw failure(error, meaning === 'lost' ? 'unavailable' : meaning)
      }
    }
    const close = async (): Promise<void> => {
      if (sound) await readInSnapshot(endSnapshot, []).catch(() => {})
      if (sound) readers.release(session)
      else readers.discard(session)
    }
    try {
      await readInSnapshot(beginSnapshot, [])
      return { read: readInSnapshot, close }
    } catch (error) {
      await close()
      throw error
    }
  }

  async function define(text: string): Promise<void> {
    const session = await acquire(writers)
    try {
      // An index on a large tree takes its time. Behind a pooler the setting must not outlive the transaction.
      await session.define(`begin; set local statement_timeout = 0; ${text}; commit`)
    } finally {
      writers.discard(session)
    }
  }

  return {
    read,
    write,
    openSnapshot,
    define,
    failure: () => readers.failure ?? writers.failure,
    timeline: () => engine.timeline,
    async close() {
      clearTimeout(reaping)
      engine.close()
      await Promise.all([readers.close(), writers.close()])
    },
  }
}

const beginSnapshot: Statement<never> = {
  name: 'begin_snapshot',
  text: 'begin transaction isolation level repeatable read, read only',
}
const endSnapshot: Statement<never> = { name: 'end_snapshot', text: 'commit' }

/** What a failed statement has come to. */
type Meaning =
  /** It lost against another and changed nothing. */
  | 'conflict'
  /** It was to begin too late by the engine's clock, and changed nothing. */
  | 'late'
  /** It changed nothing: there is no room. */
  | 'full'
  /** It changed nothing: the engine would not, or not in time. */
  | 'unavailable'
  /** Nobody knows whether it was carried out, or will still be here. */
  | 'lost'
  /** It changed nothing, and never will: the statement or the schema is wrong, or the engine is. */
  | 'wrong'

/** SQLSTATEs, or their first two letters, of errors after which the engine has changed nothing. */
const meanings: Readonly<Record<string, Meaning>> = {
  [lateState]: 'late',
  '40001': 'conflict', // serialization failure
  '40P01': 'conflict', // deadlock
  '40003': 'lost', // statement completion unknown
  '53100': 'full', // disk full
  '53': 'unavailable', // out of memory, connections or other resources
  '25006': 'unavailable', // the engine only reads now: a standby, after a fail-over
  '55P03': 'unavailable', // lock not available
  '57014': 'unavailable', // statement_timeout, or cancelled by a person
  '57': 'lost', // the engine shuts down or crashes
  '08': 'lost', // connection
  '58': 'lost', // the system beneath it
}

function meaningOf(error: unknown): Meaning {
  if (error instanceof StoreError) return 'unavailable'
  const code = stateOf(error)
  if (code === undefined) return 'lost'
  const meaning = meanings[code] ?? meanings[code.slice(0, 2)] ?? 'wrong'
  // A FATAL error or a PANIC ends the connection, and may come after the commit. Severities may be in another language;
  // then only a conflict, which is always an ERROR, is taken for one.
  return isPlainError(error) || meaning === 'conflict' ? meaning : 'lost'
}

function failure(error: unknown, meaning: Meaning): unknown {
  if (error instanceof StoreError) return error
  const { message } = error as Error
  switch (meaning) {
    case 'conflict':
      return new StoreError('retry', `too many statements met: ${message}`, { cause: error })
    case 'late':
      return new StoreError('unavailable', 'the write reached the engine too late', { cause: error })
    case 'full':
    case 'unavailable':
      return new StoreError(meaning, message, { cause: error })
    case 'lost':
      return new StoreError('unknown_outcome', error instanceof Warned ? message : `the engine was lost: ${message}`, {
        cause: error,
      })
    case 'wrong':
      return error
  }
}
