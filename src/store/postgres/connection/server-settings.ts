/**
 * The settings of the engine that topicd requires: what it acknowledges must be on disk, it must be able to store every text,
 * and fenced reads need a standby. An engine that does not know a setting cannot have a wrong value for it.
 */
import type { Statement } from '../sql/statement.js'
import type { Connections } from './connections.js'

const settings = ['fsync', 'server_encoding', 'synchronous_standby_names'] as const

const readSettings: Statement<Record<(typeof settings)[number], string | null>> = {
  name: 'read_settings',
  text: `select ${settings.map((name) => `current_setting('${name}', true) as ${name}`).join(', ')}`,
}

/** @throws Error whose message says what to change; StoreError when the engine cannot be reached */
export async function requireSettings({ read }: Pick<Connections, 'read'>, fencedReads: boolean): Promise<void> {
  const [row] = await read(readSettings, [])
  if (row?.fsync === 'off')
    throw new Error('the PostgreSQL server runs with fsync = off, so nothing it acknowledges is durable: turn it on')
  const encoding = row?.server_encoding ?? 'UTF8'
  if (encoding !== 'UTF8')
    throw new Error(`the database has the encoding ${encoding}, not UTF8: create a database with UTF8`)
  if (fencedReads && (row?.synchronous_standby_names ?? '') === '')
    throw new Error('fenced reads prove nothing without a synchronous standby: set synchronous_standby_names')
}
