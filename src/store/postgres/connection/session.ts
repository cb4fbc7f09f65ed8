/**
 * The boundary to pg: one connection to one host's engine, prepared so that its guarantees do not depend on the configuration of
 * the engine, the database or the role. Nothing else imports pg. connections.ts chooses the session for each statement.
 *
 * Caveats of the library and of the protocol, each covered by a test:
 * - The engine sends a statement's result before it commits. pg resolves on the message after that (ReadyForQuery), so a resolved
 *   write is committed.
 * - A commit that stopped waiting for a standby is reported as a success with a warning.
 * - A failed connection emits an `error`, which crashes the process unless there is a listener.
 * - pg's time limit on connecting ends with the login, and `end()` waits for the other side. So every statement here has a time
 *   limit, except those of `define`, and a connection is closed by destroying its socket.
 * - Results are text, decoded as UTF-8; here every column stays the text that was received.
 */
import type { Socket } from 'node:net'
import pg from 'pg'
import { within } from '../../../base/within.js'
import { type Parameter, readClock, type Statement } from '../sql/statement.js'

/**
 * Settings of each session. A setting that an engine or a pooler does not know must not prevent the others. Without statistics, a
 * planner joins by reading whole tables. Every statement here is meant to use an index, so other plans are disabled.
 */
const settings: readonly string[] = [
  // Overrides a weaker setting of the role or the database; a stronger one stays.
  `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') <> 'remote_apply'`,
  // A commit that holds the commit lock (commit/function.ts) sees all earlier ones; a snapshot from its start would not.
  `set default_transaction_isolation = 'read committed'`,
  // Every commit may wait for another one; the limit on its statement bounds the wait.
  'set lock_timeout = 0',
  // The engine closes the session within half a minute if its host has vanished.
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

/** SQLSTATEs for a setting, value, function, feature or syntax that an engine or a pooler does not know. */
const unknownStates: readonly (string | undefined)[] = ['42704', '22023', '42883', '0A000', '42601']

/** Distinguishes one primary from the next: the name of the log file contains the timeline, and a standby writes no log. */
const readTimeline = `
  select pg_is_in_recovery()::text as standby,
    case when pg_is_in_recovery() then null else substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end as timeline`

/** The sessions that the engine allows: the minimum of the limits for all clients, this role and this database. */
const readSlots = `
  select least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
    (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
    (select nullif(datconnlimit, -1) from pg_database where datname = current_database())
  )::text as slots`

/** Delay before the first probe of an idle connection, in ms: half the time after which stateful firewalls forget it. */
const keepAliveMs = 30_000

/** The time, in ms, after which the engine itself aborts a statement, or closes a session that is idle within a transaction. */
export interface SessionLimits {
  readonly statementMsMax: number
  readonly idleMsMax: number
  /** The time after which the engine closes a session that does not read the data sent to it; 0 for the system's limit. */
  readonly unreadMsMax: number
}

/** Columns stay the text that was received. */
const asText = { getTypeParser: () => String } as unknown as pg.CustomTypesConfig

/** A statement was not answered in time; it is unknown whether it was executed. */
export class TimedOut extends Error {}

/** A write succeeded with a warning: it is committed on this host, and perhaps nowhere else. */
export class Warned extends Error {}

export class Standby extends Error {}

export class Session {
  /** The engine's timeline: a promoted standby has a higher one than its predecessor. 0 if the engine has none. */
  timeline = 0
  /** Sessions that the engine allows this role in total; undefined if it does not report them. */
  slots: number | undefined
  /** Lower bound of the engine's clock minus performance.now() at the last reading, in ms. */
  clockOffsetMs = 0
  /** The time of that reading, in ms of performance.now(). */
  clockReadAtMs = 0

  #warning: string | undefined
  /** A statement is in flight, perhaps an abandoned one. */
  #isBusy = false
  #onAnswered: (() => void) | undefined

  private constructor(private readonly client: pg.Client) {
    // A statement in flight fails with the connection, and its caller gets the error.
    client.on('error', () => {})
    client.on('notice', ({ code, message }) => {
      // Class 01 is a warning in every language.
      if (code?.startsWith('01') === true) this.#warning = message
    })
  }

  /**
   * @param msMax the time limit for opening the session as a whole
   * @throws Standby; TimedOut; otherwise the system's or the engine's error
   */
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

  /** Sends all settings in one round trip; if the engine does not know one of them, sends each separately. */
  async #set(texts: readonly string[], optional: (text: string) => Promise<unknown>): Promise<void> {
    try {
      await this.client.query(texts.join(';'))
    } catch (error) {
      if (!unknownStates.includes(stateOf(error))) throw error
      for (const text of texts) await optional(text)
    }
  }

  /** @throws as `execute` */
  async readClock(msMax: number): Promise<void> {
    const [row] = await this.execute(readClock, [], msMax)
    if (row === undefined) throw new Error('the PostgreSQL server did not return its time')
    this.clockReadAtMs = performance.now()
    this.clockOffsetMs = Number(row.now) - this.clockReadAtMs
  }

  get backendId(): number {
    return (this.client as unknown as { processID: number }).processID
  }

  /** @throws TimedOut after `msMax`, but the statement may still be executed; otherwise the engine's or the connection's error */
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

  /** Like `execute`, for a statement that changes data. @throws also Warned */
  async change<Row>(
    statement: Statement<Row>,
    parameters: readonly Parameter[],
    msMax: number,
  ): Promise<readonly Row[]> {
    const rows = await this.execute(statement, parameters, msMax)
    if (this.#warning !== undefined) throw new Warned(this.#warning)
    return rows
  }

  /** Executes any number of statements, given as one string, unprepared and without its own time limit. */
  async define(text: string): Promise<void> {
    await this.client.query(text)
  }

  /** Calls the listener once the connection has closed, on either side. */
  onEnd(listener: () => void): void {
    this.client.once('end', listener)
  }

  /** Resolves once an abandoned statement is answered, or the connection has closed. */
  answered(): Promise<void> {
    return this.#isBusy ? new Promise((resolve) => (this.#onAnswered = resolve)) : Promise.resolve()
  }

  /** The engine's own time limit aborts the statement in flight, unless it waits for a standby. */
  destroy(): void {
    // `end` closes the session properly if the other side still reads; the socket is destroyed in any case.
    this.client.end().catch(() => {})
    const { stream } = (this.client as unknown as { connection: { stream: Socket } }).connection
    setImmediate(() => stream.destroy())
  }
}

/** Undefined for an error that the engine did not report. */
export function stateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** True if the engine reports that it aborted the statement but kept the session. Severities may be in another language. */
export function isPlainError(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR'
}

function timedOut(msMax: number): TimedOut {
  return new TimedOut(`the PostgreSQL server did not respond within ${msMax} ms`)
}
