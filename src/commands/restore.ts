/**
 * `topicd restore FILE`: puts a backup into a data directory that has no store. What may be restored, and as whom, is
 * decided here; how the copy becomes the store is in restored-copy.ts.
 *
 * As root it opens FILE, and then becomes the account that owns the data directory, for good: what that account has put
 * there, such as a link to another file, must not be followed with root's rights.
 */
import { lstatSync, openSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { lockDirectory } from '../cluster/directory-lock.js'
import { readConfig } from '../config.js'
import { isExclusive } from '../store/address.js'
import { dataFile, stagingDirectory } from '../store/lmdb/files.js'
import { type Command, storeSettings } from './command.js'
import { type Backup, restoreCopy } from './restored-copy.js'
import { print } from './stdout.js'

/** The child of a restore that was killed checks the copy a little longer, and holds the lock until it notices. */
const lockMsMax = 5_000

export const restore: Command = {
  summary: 'puts a backup into a data directory without a store, and checks it',
  details: 'API keys are in the backup, and are valid again. FILE is only read. The service must not run.',
  operands: ['FILE'],
  settings: [...storeSettings, 'disk-free-bytes-min'],
  flags: {},
  async run({ settings, operand }) {
    const location = readConfig(settings)
    const file = resolve(operand('FILE'))
    if (!isExclusive(location.store))
      throw new Error('the store is PostgreSQL, which has tools of its own to restore a dump, such as pg_restore')
    const { data } = location
    const owner = statSync(data, { throwIfNoEntry: false })
    if (owner === undefined) throw new Error(`there is no directory ${data}; make it, for the account of the service`)
    const backup = openBackup(file, data)
    if (process.getuid?.() === 0) become(owner)
    requireNoStore(data)
    const lock = await lockDirectory(data, lockMsMax)
    if (lock === undefined)
      throw new Error(`the data directory ${data} is in use; stop the service that runs on it first`)
    try {
      // Another restore may have ended since the first look.
      requireNoStore(data)
      const records = await restoreCopy(location, lock, backup)
      const { size } = statSync(dataFile(data))
      await print(`${dataFile(data)}: ${size} bytes, ${records} records checked; the service can be started\n`)
    } finally {
      lock.release()
    }
  },
}

function openBackup(file: string, data: string): Backup {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) throw new Error(`there is no file ${file}`)
  if (!stats.isFile()) throw new Error(`${file} is not a plain file, so it is no backup`)
  if (realpathSync(file).startsWith(`${stagingDirectory(realpathSync(data))}/`)) {
    throw new Error(`${file} is what a restore that was broken off has left; restore the backup itself`)
  }
  return { file, descriptor: openSync(file, 'r'), bytes: stats.size }
}

/** Gives up root's rights for those of an account. */
function become({ uid, gid }: Stats): void {
  process.setgroups?.([gid])
  process.setgid?.(gid)
  process.setuid?.(uid)
}

function requireNoStore(data: string): void {
  if (lstatSync(dataFile(data), { throwIfNoEntry: false }) === undefined) return
  throw new Error(
    `there is a store in ${data} already, and a restore never replaces one; ` +
      `stop the service and move ${dirname(dataFile(data))} away first`,
  )
}
