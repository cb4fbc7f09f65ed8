/**
 * The edge to pg: one connection to one host's engine, prepared so that what is promised of it does not depend on anybody's
 * configuration. Nothing else imports pg. Which connection is used for what is decided elsewhere.
 *
 * Caveats of the library and of the protocol, each held by a test:
 * - The engine sends a statement's result before it commits. pg resolves on the message after that (ReadyForQuery), so a
 *   resolved write is a committed one.
 * - A commit whose wait for a standby was given up comes back as a success with a warning.
 * - A connection that fails says so by an `error` that ends the process unless somebody listens.
 * - pg's limit on a connection's making ends with the log-in, and `end()` waits for the other side: so every statement here has a
 *   limit, and a connection is ended by destroying its socket.
 * - What comes back is text, decoded as UTF-8; here every column stays the text that it came as.
 */
import type { Socket } from 'node:net'
import pg from 'pg'
import { clockMs, type Parameter, type Statement } from './statement.js'

/**
 * Settings of each session. One that an engine or a pooler does not know must not take the others with it. A planner without statistics joins by reading whole tables, and every statement here is meant to go by an index, so
 * the other ways are turned off.
 */
const settings: readonly string[] = [
  // Whatever weaker was set for the role or the database; stronger stays.
  `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') <> 'remote_apply'`,
  'set idle_in_transaction_session_timeout = 60000',
  // The engine lets go of a session whose host has vanished within half a minute.
  'set tcp_keepalives_idle = 10',
  'set tcp_keepalives_interval = 5',
  'set tcp_keepalives_count = 4',
  'set enable_seqscan = off',
  'set enable_bitmapscan = off',
  'set enable_hashjoin = off',
  'set enable_mergejoin = off',
  'set jit = off',
  // Or a statement over arrays is planned anew each time it is carried out, which takes as long as it does.
  'set plan_cache_mode = force_generic_plan',
]

/** SQLSTATEs of what an engine or a pooler does not know: a setting, its value, a function, a feature, a form of words. */
const unknownStates: readonly (string | undefined)[] = ['42704', '22023', '42883', '0A000', '42601']

/** What tells one primary from the next: the timeline is part of the name of the file that is written to. A standby writes none. */
const readPlace = `
  select pg_is_in_recovery()::text as standby,
    case when pg_is_in_recovery() then null else substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end as timeline`

/** How many sessions the engine lets everybody have, and this role and database. */
const readSlots = `
  select least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
    (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
    (select nullif(datconnlimit, -1) from pg_database where datname = current_database())
  )::text as slots`

const readClock: Statement<{ now: string }> = { name: 'read_clock', text: `select ${clockMs} as now` }

/** Before the first probe of an idle connection, in ms: half of what stateful firewalls forget after. */
const keepAliveMs = 30_000

/** Columns stay the text that they came as. */
const asText = {
  getTypeParser:
    () =>
    (text: unknown): unknown =>
      text,
} as unknown as pg.CustomTypesConfig

/** A statement was not answered in time; whether it was carried out is not known. */
export class TimedOut extends Error {}

/** A write came back with a warning: it is committed here, and perhaps nowhere else. */
export class Warned extends Error {}

/** The host's engine is a standby, and only reads. */
export class Standby extends Error {}

export class Session {
  /** Of the engine's history: a promoted standby has a higher one than its predecessor. 0 where the engine has none. */
  timeline = 0
  /** Sessions that the engine lets this role have in all; undefined where it does not say. */
  slots: number | undefined
  /** What the engine's clock is ahead of performance.now() at least, in ms, as it was last seen, and when. */
  clockOffsetMs = 0
  clockSeenMs = 0

  readonly #client: pg.Client
  #warning: string | undefined
  #isBusy = false
  #onAnswered: (() => void) | undefined

  private constructor(client: pg.Client) {
    this.#client = client
    // Whatever is in flight on the connection fails with it and is told so.
    client.on('error', () => {})
    client.on('notice', ({ code, message }) => {
      // Class 01 is a warning in every language.
      if (code?.startsWith('01') === true) this.#warning = message
    })
  }

  /**
   * Connects to the engine at an address of one host, and prepares the session.
   *
   * @param msMax for everything together
   * @param statementMsMax after which the engine ends a statement by itself
   * @throws Standby when it is one; TimedOut; else whatever the system or the engine says
   */
  static async open(address: string, msMax: number, statementMsMax: number): Promise<Session> {
    const client = new pg.Client({
      connectionString: address,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      application_name: 'topicd',
    })
    const session = new Session(client)
    try {
      await within(msMax, session.#prepare(msMax, statementMsMax))
      return session
    } catch (error) {
      session.destroy()
      throw error
    }
  }

  async #prepare(msMax: number, statementMsMax: number): Promise<void> {
    await this.#client.connect()
    const optional = async (text: string): Promise<Record<string, string | null> | undefined> => {
      try {
        return (await this.#client.query({ text, types: asText })).rows[0]
      } catch (error) {
        // An engine that does not know something has no way to have it wrong.
        if (unknownStates.includes(stateOf(error))) return undefined
        throw error
      }
    }
    const place = await optional(readPlace)
    if (place?.standby === 'true') throw new Standby('it is a standby, which only reads')
    this.timeline = Number.parseInt(place?.timeline ?? '0', 16)
    await this.#set([`set statement_timeout = ${statementMsMax}`, ...settings], optional)
    const slots = await optional(readSlots)
    this.slots = slots?.slots == null ? undefined : Number(slots.slots)
    await this.seeClock(msMax)
  }

  /** All settings in one round trip; where the engine does not know one of them, each by itself. */
  async #set(texts: readonly string[], optional: (text: string) => Promise<unknown>): Promise<void> {
    try {
      await this.#client.query(texts.join(';'))
    } catch (error) {
      if (!unknownStates.includes(stateOf(error))) throw error
      for (const text of texts) await optional(text)
    }
  }

  /** Looks at the engine's clock. @throws as `execute` does */
  async seeClock(msMax: number): Promise<void> {
    const [{ now }] = await this.execute(readClock, [], msMax)
    this.clockSeenMs = performance.now()
    this.clockOffsetMs = Number(now) - this.clockSeenMs
  }

  /** The engine's number of its process for this session. */
  get backendId(): number {
    return (this.#client as unknown as { processID: number }).processID
  }

  /** Whether a statement is being carried out, one that was given up included. */
  get isBusy(): boolean {
    return this.#isBusy
  }

  /**
   * Carries out a statement.
   *
   * @throws TimedOut after `msMax`, and the statement may still be carried out; else what the engine or the connection says
   */
  execute<Row>(
    { name, text }: Statement<Row>,
    parameters: readonly Parameter[],
    msMax: number,
  ): Promise<readonly Row[]> {
    this.#warning = undefined
    this.#isBusy = true
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new TimedOut(lateWords(msMax))), msMax)
      this.#client.query(
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

  /** The same for one that changes something. @throws Warned too */
  async change<Row>(
    statement: Statement<Row>,
    parameters: readonly Parameter[],
    msMax: number,
  ): Promise<readonly Row[]> {
    const rows = await this.execute(statement, parameters, msMax)
    if (this.#warning !== undefined) throw new Warned(this.#warning)
    return rows
  }

  /** Carries out text with any number of statements, unprepared, however long they take. */
  async define(text: string): Promise<void> {
    await this.#client.query(text)
  }

  /** Told once the connection has ended, whoever ended it. */
  onEnd(listener: () => void): void {
    this.#client.once('end', listener)
  }

  /** Resolves once a statement that was given up is answered after all, or the connection is gone. */
  answered(): Promise<void> {
    return this.#isBusy ? new Promise((resolve) => (this.#onAnswered = resolve)) : Promise.resolve()
  }

  /** Ends the connection at once. The engine ends what it is doing for it by its own time limit, but for a wait for a standby. */
  destroy(): void {
    // Orderly where the other side still reads, and at once in any case.
    this.#client.end().catch(() => {})
    const { stream } = (this.#client as unknown as { connection: { stream: Socket } }).connection
    setImmediate(() => stream.destroy())
  }
}

/** The SQLSTATE of an error that the engine itself gave; undefined for any other. */
export function stateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** Whether the engine says of an error that it ended the statement and not the session. Severities may be in another language. */
export function isPlainError(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR'
}

function lateWords(msMax: number): string {
  return `the engine did not answer within ${msMax} ms`
}

/** @throws TimedOut; what was waited for goes on, and its failure is nobody's concern */
async function within<T>(msMax: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimedOut(lateWords(msMax))), msMax)
  })
  promise.catch(() => {})
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
