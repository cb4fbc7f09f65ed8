/**
 * The settings of the engine that topicd requires: what it acknowledges must be on disk, and it must be able to store
 * every text. An engine that does not know a setting cannot have a wrong value for it.
 */
import { StoreError } from '../../errors.js'
import type { Statement } from '../sql/statement.js'
import type { Connections } from './connections.js'

type Setting = Statement<{ setting: string }>

const readFsync: Setting = { name: 'read_fsync', text: `select current_setting('fsync') as setting` }
const readEncoding: Setting = { name: 'read_encoding', text: `select current_setting('server_encoding') as setting` }

/** @throws Error whose message says what to change; StoreError when the engine cannot be reached */
export async function requireSettings({ read }: Pick<Connections, 'read'>): Promise<void> {
  async function settingOf(statement: Setting): Promise<string | undefined> {
    const [row] = await read(statement, []).catch((error: unknown) => {
      if (error instanceof StoreError) throw error
      return []
    })
    return row?.setting
  }
  if ((await settingOf(readFsync)) === 'off') {
    throw new Error('the PostgreSQL server runs with fsync = off, so nothing it acknowledges is durable: turn it on')
  }
  const encoding = (await settingOf(readEncoding)) ?? 'UTF8'
  if (encoding !== 'UTF8')
    throw new Error(`the database has the encoding ${encoding}, not UTF8: create a database with UTF8`)
}
