/**
 * The engine behind a postgres:// address: puts the parts of this folder together into a `TopicStore`. Any number of
 * processes of any number of hosts may have it open; opening it is no hazard to anybody, so writes are never held.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { StoreError, type StoreFigures, type TopicStore } from '../store.js'
import { type Connections, createConnections, type Statement } from './connections.js'
import { createKeyRecords } from './key-records.js'
import { createLease } from './lease.js'
import { createReads } from './reads.js'
import { createRemovals } from './removals.js'
import { migrateSchema, requireSchema } from './schema.js'
import { check, walk } from './whole.js'
import { createWrites } from './writes.js'
import { inTurn } from './turns.js'

/** How long to wait for an engine that cannot be reached at first, in ms: it may be restarting. */
const patienceMs = 6000
const patienceStepMs = 200

/** Statements of scans under way in this process. */
const scansInFlightMax = 2

/** Counting reads a whole index, so it is done this seldom, in ms. */
const figuresMs = 30_000

const countTopics: Statement<{ topics: string }> = {
  name: 'count_topics',
  text: 'select count(*) as topics from topicd.topics',
}

const readSize: Statement<{ bytes: string }> = {
  name: 'read_size',
  text: `select pg_total_relation_size('topicd.topics') as bytes`,
}

const readFsync: Statement<{ setting: string }> = {
  name: 'read_fsync',
  text: `select current_setting('fsync') as setting`,
}

const readEncoding: Statement<{ setting: string }> = {
  name: 'read_encoding',
  text: `select current_setting('server_encoding') as setting`,
}

/**
 * Opens the store at an address, whose schema must be there.
 *
 * @throws Error when it cannot be reached, when its schema is not the one of this program, when nothing in it is durable, or
 *   when it cannot hold every text
 */
export async function openPostgresStore(address: string): Promise<TopicStore> {
  const connections = createConnections(address)
  try {
    await patiently(() => requireSchema(connections))
    await requireSettings(connections)
  } catch (error) {
    await connections.close()
    throw error
  }
  const lease = createLease(connections)
  const scan = inTurn(connections.read, scansInFlightMax)
  const writes = createWrites(connections, scan)
  const { settled, ...changes } = writes
  const removals = createRemovals(connections, lease, writes)
  let figures: { readonly atMs: number; readonly read: Promise<StoreFigures> } | undefined
  return {
    ...createReads(connections, scan),
    ...changes,
    ...createKeyRecords(connections),
    removeDue: removals.removeDue,
    walk: (plan, cancellation) => walk(connections, plan, cancellation),
    check: (report) => check(connections, report),
    figures() {
      if (figures === undefined || performance.now() - figures.atMs > figuresMs) {
        figures = { atMs: performance.now(), read: readFigures(connections) }
        figures.read.catch(() => (figures = undefined))
      }
      return figures.read
    },
    hold: () => Promise.resolve(),
    release() {},
    async close() {
      await removals.close()
      await settled()
      await lease.end().catch(() => {})
      await connections.close()
    },
  }
}

/** Makes or migrates the schema at an address. See `migrateSchema`. */
export async function migratePostgresStore(address: string): Promise<{ readonly from: number; readonly to: number }> {
  const connections = createConnections(address)
  try {
    return await migrateSchema(connections)
  } finally {
    await connections.close()
  }
}

async function patiently(open: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof StoreError) || performance.now() > deadline) throw error
      await sleep(patienceStepMs)
    }
  }
}

/**
 * What the engine acknowledges must be on disk, and every text must have a place in it. Engines that do not know a setting
 * have no way to have it wrong.
 */
async function requireSettings({ read }: Connections): Promise<void> {
  async function settingOf(statement: Statement<{ setting: string }>): Promise<string | undefined> {
    const [row] = await read(statement, []).catch((error: unknown) => {
      if (error instanceof StoreError) throw error
      return []
    })
    return row?.setting
  }
  if ((await settingOf(readFsync)) === 'off') {
    throw new Error('the engine runs with fsync = off, so nothing that it acknowledges is durable: turn it on')
  }
  const encoding = (await settingOf(readEncoding)) ?? 'UTF8'
  if (encoding !== 'UTF8') throw new Error(`the database has the encoding ${encoding}, not UTF8: make one that has`)
}

/** The size is 0 where the engine does not tell it. */
async function readFigures({ read }: Connections): Promise<StoreFigures> {
  const [{ topics }] = await read(countTopics, [])
  const [row] = await read(readSize, []).catch(() => [])
  return { topics: Number(topics), bytes: Number(row?.bytes ?? 0) }
}
