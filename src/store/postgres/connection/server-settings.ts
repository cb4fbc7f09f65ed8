/**
 * The settings of the engine that topicd requires: what it acknowledges must be on disk, it must be able to store every text,
 * and fenced reads need a standby. An engine that does not know a setting cannot have a wrong value for it.
 */
import { StoreError } from '../../errors.js'
import type { Statement } from '../sql/statement.js'
import type { Connections } from './connections.js'

const readSetting: Statement<{ setting: string }> = {
  name: 'read_setting',
  text: 'select current_setting($1::text) as setting',
}

/** @throws Error whose message says what to change; StoreError when the engine cannot be reached */
export async function requireSettings({ read }: Pick<Connections, 'read'>, fencedReads: boolean): Promise<void> {
  async function settingOf(name: string): Promise<string | undefined> {
    const [row] = await read(readSetting, [name]).catch((error: unknown) => {
      if (error instanceof StoreError) throw error
      return []
    })
    return row?.setting
  }
  if ((await settingOf('fsync')) === 'off') {
    throw new Error('the PostgreSQL server runs with fsync = off, so nothing it acknowledges is durable: turn it on')
  }
  const encoding = (await settingOf('server_encoding')) ?? 'UTF8'
  if (encoding !== 'UTF8')
    throw new Error(`the database has the encoding ${encoding}, not UTF8: create a database with UTF8`)
  if (fencedReads && ((await settingOf('synchronous_standby_names')) ?? '') === '')
    throw new Error('fenced reads prove nothing without a synchronous standby: set synchronous_standby_names')
}
