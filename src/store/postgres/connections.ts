/**
 * The edge to pg: connections to the engine, statements over them, and what a failed one means. Nothing else imports pg.
 *
 * Each statement is prepared once a connection and is a transaction of its own; only a cut holds one open. A statement
 * that lost against another is made again, a few times; one that only reads is made again when its connection is lost.
 * A connection that failed in any other way is never used again.
 *
 * Caveats of the library and of the protocol, each held by a test:
 * - The engine sends a statement's result before it commits. pg resolves on the message after that (ReadyForQuery), so a
 *   resolved write is a committed one.
 * - A connection that fails says so by an `error`, idle or not, that ends the process unless somebody listens: on the pool
 *   for idle ones, on the connection itself otherwise.
 * - What comes back is text, decoded as UTF-8; here every column stays the text that it came as.
 * - A planner without statistics joins by reading whole tables. Every statement here is meant to go by an index, so the
 *   other ways are turned off where the engine knows the settings.
 */
import pg from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import { commitDeadlineMs } from '../../limits.js'
import { StoreError } from '../store.js'

/** A statement, prepared under its name; `Row` has a text, or null, for each column. */
export interface Statement<Row> {
  readonly name: string
  readonly text: string
  /** Never there: it carries the type. */
  readonly row?: Row
}

/** Buffers go out as they are, in the binary form of the parameter's type; arrays.ts makes those of arrays. */
export type Parameter = string | number | Buffer

export type Read = <Row>(statement: Statement<Row>, parameters: readonly Parameter[]) => Promise<readonly Row[]>

export interface Connections {
  /**
   * Carries out a statement that changes nothing.
   *
   * @throws StoreError `unavailable` when the engine cannot be reached
   */
  readonly read: Read
  /**
   * Carries out a statement; when it resolves, what it changed is durable.
   *
   * @throws StoreError of every kind; of `unknown_outcome` when the connection was lost before the engine answered
   */
  readonly write: Read
  /** A transaction that reads, all of it from one moment. */
  openCut(): Promise<Cut>
  /** Carries out text with any number of statements, unprepared. */
  define(text: string): Promise<void>
  close(): Promise<void>
}

export interface Cut {
  readonly read: Read
  close(): Promise<void>
}

/** Connections of one process, made as they are needed: six rounds of writes, six of reads, and a few for everything else. */
const connectionsMax = 16

/** How long a connection may take to be made, in ms; a request waits at most this long for an engine that is gone. */
const connectMsMax = 3000

/** The engine ends a statement after this long, in ms: well before we give it up, so that it cannot come true much later. */
const statementMsMax = 8000

/** How often a statement is made that loses against others (a serialization failure, a deadlock). */
const attemptsMax = 10

/** The longest wait before the second attempt, in ms; it doubles with each. */
const backoffMs = 4

/**
 * For PostgreSQL and what descends from it: go by the indexes, and let nobody's configuration acknowledge what is not on
 * disk. Other engines refuse these, and need none.
 */
const sessionText = `
  set enable_seqscan = off; set enable_bitmapscan = off; set enable_hashjoin = off; set enable_mergejoin = off;
  set jit = off;
  select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`

/** Columns stay the text that they came as. */
const asText = { getTypeParser: () => (text: unknown): unknown => text } as unknown as pg.CustomTypesConfig

/** @param address a postgres:// URL; what it leaves out comes from the PG… variables of the environment */
export function createConnections(address: string): Connections {
  const pool = new pg.Pool({
    connectionString: address,
    max: connectionsMax,
    connectionTimeoutMillis: connectMsMax,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    application_name: 'topicd',
    onConnect: (client) => prepareSession(client) as unknown as void,
  })
  // The pool has let go of the connection already, and the next statement makes a new one.
  pool.on('error', () => {})

  async function connect(): Promise<pg.PoolClient> {
    try {
      return await pool.connect()
    } catch (cause) {
      throw new StoreError('unavailable', `the engine cannot be reached: ${(cause as Error).message}`)
    }
  }

  async function run<Row>({ name, text }: Statement<Row>, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    const client = await connect()
    let sound = false
    try {
      const { rows } = await client.query(timed({ name, text, values: [...parameters], types: asText }))
      sound = true
      return rows as Row[]
    } catch (error) {
      sound = meaningOf(error) === 'conflict'
      throw error
    } finally {
      client.release(!sound)
    }
  }

  async function read<Row>(statement: Statement<Row>, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run(statement, parameters)
      } catch (error) {
        const meaning = meaningOf(error)
        if (meaning === 'lost' && attempt === 1) continue
        if (meaning !== 'conflict' || attempt === attemptsMax) throw failure(error, meaning === 'lost' ? 'unavailable' : meaning)
        await sleep(Math.random() * backoffMs * 2 ** attempt)
      }
    }
  }

  async function write<Row>(statement: Statement<Row>, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run(statement, parameters)
      } catch (error) {
        const meaning = meaningOf(error)
        if (meaning !== 'conflict' || attempt === attemptsMax) throw failure(error, meaning)
        await sleep(Math.random() * backoffMs * 2 ** attempt)
      }
    }
  }

  async function openCut(): Promise<Cut> {
    const client = await connect()
    let sound = true
    const readInCut: Read = async ({ name, text }, parameters) => {
      try {
        return (await client.query(timed({ name, text, values: [...parameters], types: asText }))).rows
      } catch (error) {
        sound = false
        const meaning = meaningOf(error)
        throw failure(error, meaning === 'lost' ? 'unavailable' : meaning)
      }
    }
    await readInCut({ name: 'begin_cut', text: 'begin transaction isolation level repeatable read, read only' }, [])
    return {
      read: readInCut,
      async close() {
        if (sound) await readInCut({ name: 'end_cut', text: 'commit' }, []).catch(() => {})
        client.release(!sound)
      },
    }
  }

  async function define(text: string): Promise<void> {
    const client = await connect()
    let sound = false
    try {
      await client.query(text)
      sound = true
    } finally {
      client.release(!sound)
    }
  }

  return { read, write, openCut, define, close: () => pool.end() }
}

async function prepareSession(client: pg.ClientBase): Promise<void> {
  // Whatever is under way on the connection fails with it and is told so; there is nothing more to do.
  client.on('error', () => {})
  await client.query(`set statement_timeout = ${statementMsMax}`)
  await client.query(sessionText).catch((error: unknown) => {
    if (meaningOf(error) === 'lost') throw error
  })
}

/** With a deadline of our own: an engine that says nothing at all must not hold a request forever. */
function timed(query: pg.QueryConfig): pg.QueryConfig {
  return Object.assign(query, { query_timeout: commitDeadlineMs })
}

/** What a failed statement has come to. */
type Meaning =
  /** It lost against another and changed nothing. */
  | 'conflict'
  /** It changed nothing: there is no room. */
  | 'full'
  /** It changed nothing: the engine would not, or not in time. */
  | 'unavailable'
  /** Nobody knows whether it was carried out. */
  | 'lost'
  /** It changed nothing, and never will: the statement or the schema is wrong, or the engine is. */
  | 'wrong'

/** SQLSTATEs, or their first two letters, of errors after which the engine has changed nothing. */
const meanings: Readonly<Record<string, Meaning>> = {
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
  if (!(error instanceof pg.DatabaseError) || error.code === undefined) return 'lost'
  const { code, severity } = error
  const meaning = meanings[code] ?? meanings[code.slice(0, 2)] ?? 'wrong'
  // A FATAL error or a PANIC ends the connection, and may come after the commit. Severities may be in another language;
  // then only a conflict, which is always an ERROR, is taken for one.
  return severity === 'ERROR' || meaning === 'conflict' ? meaning : 'lost'
}

function failure(error: unknown, meaning: Meaning): unknown {
  if (error instanceof StoreError) return error
  const { message } = error as Error
  switch (meaning) {
    case 'conflict':
      return new StoreError('retry', `too many statements met: ${message}`, { cause: error })
    case 'full':
    case 'unavailable':
      return new StoreError(meaning, message, { cause: error })
    case 'lost':
      return new StoreError('unknown_outcome', `the engine was lost: ${message}`, { cause: error })
    case 'wrong':
      return error
  }
}

/** The SQLSTATE of an error that the engine itself gave; undefined for any other. */
export function stateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}
