/**
 * The edge to pg: one connection to one host's engine, prepared so that its guarantees do not depend on the
 * configuration of the engine, the database or the role. Nothing else imports pg. Which session executes what is
 * decided in connections.ts.
 *
 * Caveats of the library and of the protocol, each covered by a test:
 * - The engine sends a statement's result before it commits. pg resolves on the message after that (ReadyForQuery), so
 *   a resolved write is a committed one.
 * - A commit that stopped waiting for a standby is reported as a success with a warning.
 * - A connection that fails emits an `error`, which ends the process unless there is a listener.
 * - pg's time limit on connecting ends with the login, and `end()` waits for the other side. So every statement here
 *   but those of `define` has a time limit, and a connection is ended by destroying its socket.
 * - Results are text, decoded as UTF-8; here every column stays the text that was received.
 */
import type { Socket } from 'node:net'
import pg from 'pg'
import { within } from '../../../base/within.js'
import { type Parameter, readClock, type Statement } from '../sql/statement.js'

/**
 * Settings of each session. A setting that an engine or a pooler does not know must not prevent the others. A planner
 * without statistics joins by reading whole tables, and every statement here is meant to use an index, so other plans
 * are disabled.
 */
const settings: readonly string[] = [
  // Overrides a weaker setting of the role or the database; a stronger one stays.
  `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') <> 'remote_apply'`,
  // A commit sees all before it once it has their order (commit/function.ts), which a snapshot from its start would not.
  `set default_transaction_isolation = 'read committed'`,
  // Every commit may wait for another one; how long, the limit on its statement says.
  'set lock_timeout = 0',
  // The engine ends a session whose host has vanished within half a minute.
  'set tcp_keepalives_idle = 10',
  'set tcp_keepalives_interval = 5',
  'set tcp_keepalives_count = 4',
  'set enable_seqscan = off',
  'set enable_bitmapscan = off',
  'set enable_hashjoin = off',
  'set enable_mergejoin = off',
  'set jit = off',
  // Otherwise a statement over arrays is planned each time it is executed, which doubles its time.
  'set plan_cache_mode = force_generic_plan',
]

/** SQLSTATEs of what an engine or a pooler does not know: a setting, its value, a function, a feature, a syntax. */
const unknownStates: readonly (string | undefined)[] = ['42704', '22023', '42883', '0A000', '42601']

/** Distinguishes one primary from the next: the timeline is in the log file's name, and a standby writes no log. */
const readTimeline = `
  select pg_is_in_recovery()::text as standby,
    case when pg_is_in_recovery() then null else substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end as timeline`

/** How many sessions the engine allows: all clients together, this role, this database. */
const readSlots = `
  select least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
    (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
    (select nullif(datconnlimit, -1) from pg_database where datname = current_database())
  )::text as slots`

/** Before the first probe of an idle connection, in ms: half the time after which stateful firewalls forget it. */
const keepAliveMs = 30_000

/** After how long the engine on its own ends a statement, and a session that is idle within a transaction; in ms. */
export interface SessionLimits {
  readonly statementMsMax: number
  readonly idleMsMax: number
  /** After how long it ends a session that does not read what it was sent; 0 for the system's limit. */
  readonly unreadMsMax: number
}

/** Columns stay the text that was received. */
const asText = { getTypeParser: () => String } as unknown as pg.CustomTypesConfig

/** A statement was not answered in time; whether it was carried out is unknown. */
export class TimedOut extends Error {}

/** A write succeeded with a warning: it is committed on this host, and perhaps nowhere else. */
export class Warned extends Error {}

export class Standby extends Error {}

export class Session {
  /** The engine's timeline: a promoted standby has a higher one than its predecessor. 0 where the engine has none. */
  timeline = 0
  /** Sessions that the engine allows this role in total; undefined where it does not say. */
  slots: number | undefined
  /** How far, at least, the engine's clock was ahead of performance.now() when it was last read, in ms. */
  clockOffsetMs = 0
  /** In ms of performance.now(). */
  clockReadAtMs = 0

  #warning: string | undefined
  /** A statement is in flight, perhaps one that was given up. */
  #isBusy = false
  #onAnswered: (() => void) | undefined

  private constructor(private readonly client: pg.Client) {
    // A statement in flight on the connection fails with it, and its caller gets the error.
    client.on('error', () => {})
    client.on('notice', ({ code, message }) => {
      // Class 01 is a warning in every language.
      if (code?.startsWith('01') === true) this.#warning = message
    })
  }

  /** @param msMax for everything together @throws Standby; TimedOut; otherwise the system's or the engine's error */
  static async open(address: string, msMax: number, limits: SessionLimits): Promise<Session> {
    const client = new pg.Client({
      connectionString: address,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      application_name: 'topicd',
    })
    const session = new Session(client)
    try {
      await within(msMax, session.#prepare(msMax, limits), () => {
        throw timedOut(msMax)
      })
      return session
    } catch (error) {
      session.destroy()
      throw error
    }
  }

  async #prepare(msMax: number, { statementMsMax, idleMsMax, unreadMsMax }: SessionLimits): Promise<void> {
    await this.client.connect()
    const optional = async (text: string): Promise<Record<string, string | null> | undefined> => {
      try {
        return (await this.client.query({ text, types: asText })).rows[0]
      } catch (error) {
        // An engine that does not know a setting cannot have a wrong value for it.
        if (unknownStates.includes(stateOf(error))) return undefined
        throw error
      }
    }
    const row = await optional(readTimeline)
    if (row?.standby === 'true') throw new Standby('it is a standby, which is read-only')
    this.timeline = Number.parseInt(row?.timeline ?? '0', 16)
    const limits = [
      `set statement_timeout = ${statementMsMax}`,
      `set idle_in_transaction_session_timeout = ${idleMsMax}`,
      `set tcp_user_timeout = ${unreadMsMax}`,
    ]
    await this.#set([...limits, ...settings], optional)
    const slots = await optional(readSlots)
    this.slots = slots?.slots == null ? undefined : Number(slots.slots)
    await this.readClock(msMax)
  }

  /** Sends all settings in one round trip; if the engine does not know one of them, each by itself. */
  async #set(texts: readonly string[], optional: (text: string) => Promise<unknown>): Promise<void> {
    try {
      await this.client.query(texts.join(';'))
    } catch (error) {
      if (!unknownStates.includes(stateOf(error))) throw error
      for (const text of texts) await optional(text)
    }
  }

  /** @throws as `execute` does */
  async readClock(msMax: number): Promise<void> {
    const [row] = await this.execute(readClock, [], msMax)
    if (row === undefined) throw new Error('the PostgreSQL server did not return its time')
    this.clockReadAtMs = performance.now()
    this.clockOffsetMs = Number(row.now) - this.clockReadAtMs
  }

  get backendId(): number {
    return (this.client as unknown as { processID: number }).processID
  }

  /** @throws TimedOut after `msMax`, but it may still be executed; otherwise the engine's or the connection's error */
  execute<Row>(
    { name, text }: Statement<Row>,
    parameters: readonly Parameter[],
    msMax: number,
  ): Promise<readonly Row[]> {
    this.#warning = undefined
    this.#isBusy = true
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(timedOut(msMax)), msMax)
      this.client.query(
        { name, text, values: [...parameters], types: asText },
        (error: Error | undefined, result: pg.QueryResult) => {
          clearTimeout(timer)
          this.#isBusy = false
          this.#onAnswered?.()
          if (error) reject(error)
          else resolve(result.rows as Row[])
        },
      )
    })
  }

  /** The same for a statement that changes something. @throws Warned too */
  async change<Row>(
    statement: Statement<Row>,
    parameters: readonly Parameter[],
    msMax: number,
  ): Promise<readonly Row[]> {
    const rows = await this.execute(statement, parameters, msMax)
    if (this.#warning !== undefined) throw new Warned(this.#warning)
    return rows
  }

  /** Executes text with any number of statements, unprepared, without a time limit of its own. */
  async define(text: string): Promise<void> {
    await this.client.query(text)
  }

  /** Calls the listener once the connection has ended, whichever side ended it. */
  onEnd(listener: () => void): void {
    this.client.once('end', listener)
  }

  /** Resolves once a statement that was given up is answered after all, or the connection has ended. */
  answered(): Promise<void> {
    return this.#isBusy ? new Promise((resolve) => (this.#onAnswered = resolve)) : Promise.resolve()
  }

  /** The engine's own time limit ends the statement in flight, unless it waits for a standby. */
  destroy(): void {
    // `end` says goodbye if the other side still reads; the socket is destroyed in any case.
    this.client.end().catch(() => {})
    const { stream } = (this.client as unknown as { connection: { stream: Socket } }).connection
    setImmediate(() => stream.destroy())
  }
}

/** Undefined for an error that the engine did not report. */
export function stateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** The engine reports that it ended the statement and not the session. Severities may be in another language. */
export function isPlainError(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR'
}

function timedOut(msMax: number): TimedOut {
  return new TimedOut(`the PostgreSQL server did not respond within ${msMax} ms`)
}
