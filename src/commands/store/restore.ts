/**
 * `topicd restore FILE`: puts a backup into a data directory that has no store. This file decides whether the restore is
 * allowed, and under which account it runs; restored-copy.ts turns the copy into the store.
 *
 * As root, it opens FILE and then becomes the owner of the data directory. That account may also control the directory of
 * FILE, so nothing is copied until FILE has proved to be a store.
 */
import { constants, fstatSync, lstatSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type DirectoryLock, lockDirectory } from '../../cluster/directory-lock.js'
import { isExclusive } from '../../settings/address.js'
import { type Config, readConfig } from '../../settings/config.js'
import { dataFile, stagingDirectory } from '../../store/lmdb/environment/files.js'
import { topicsProblem } from '../../store/lmdb/environment/preflight.js'
import { command, storeSettings } from '../command.js'
import { print } from '../stdout.js'
import { type Backup, restoreCopy } from './restored-copy.js'
import { becomeOwner } from './store-account.js'

/** The wait for the lock, in ms: the child of a killed restore holds it until the child notices the kill. */
const lockMsMax = 5_000

export const restore = command({
  summary: 'restores a backup to a data directory without a store, and checks it',
  details: "The backup's API keys become valid again. FILE is only read. The service must not be running.",
  operands: ['FILE'],
  settings: [...storeSettings, 'disk-free-bytes-min'],
  flags: {},
  async run({ settings, operand }) {
    const location = readConfig(settings)
    if (!isExclusive(location.store))
      throw new Error('the store is PostgreSQL; restore a dump with its own tools, such as pg_restore')
    const { data } = location
    const owner = statSync(data, { throwIfNoEntry: false })
    if (owner === undefined)
      throw new Error(`there is no directory ${data}; create it with the service's account as its owner`)
    if (!owner.isDirectory()) throw new Error(`${data} is not a directory`)
    const backup = openBackup(resolve(operand('FILE')), data)
    becomeOwner(owner, data)
    try {
      requireNoStore(data)
      const lock = await lockDirectory(data, lockMsMax)
      if (lock === undefined)
        throw new Error(`the data directory ${data} is in use by a service or another command; stop it first`)
      await restoreUnder(lock, location, backup).finally(lock.release)
      const { size } = statSync(dataFile(data))
      await print(`${dataFile(data)}: ${size} bytes, checked; the service can be started\n`)
    } catch (error) {
      throw named(error as Error, data)
    }
  },
})

async function restoreUnder(lock: DirectoryLock, location: Config, backup: Backup): Promise<void> {
  // Another restore may have finished after the first check.
  requireNoStore(location.data)
  return restoreCopy(location, lock, backup)
}

function openBackup(file: string, data: string): Backup {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) throw new Error(`there is no file ${file}`)
  const staging = stagingDirectory(data)
  const isStaged = statSync(staging, { throwIfNoEntry: false }) !== undefined
  if (isStaged && realpathSync(file).startsWith(`${realpathSync(staging)}/`)) {
    throw new Error(`${file} was left by an interrupted restore; restore the backup itself`)
  }
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  const stats = fstatSync(descriptor)
  if (!stats.isFile()) throw new Error(`${file} is not a plain file, so it is not a backup`)
  const problem = topicsProblem(descriptor)
  if (problem !== undefined) throw new Error(`nothing was restored: ${file} ${problem}`)
  return { file, descriptor, bytes: stats.size }
}

function requireNoStore(data: string): void {
  const topics = dirname(dataFile(data))
  const link = lstatSync(topics, { throwIfNoEntry: false })
  const found = statSync(topics, { throwIfNoEntry: false })
  if (link !== undefined && found === undefined)
    throw new Error(`${topics} is a symbolic link whose target does not exist: mount or create the target`)
  if (found !== undefined && !found.isDirectory()) throw new Error(`${topics} is not a directory: move it away`)
  if (lstatSync(dataFile(data), { throwIfNoEntry: false }) === undefined) return
  throw new Error(
    `${data} already contains a store, and a restore never replaces one; ` +
      `stop the service and move ${dataFile(data)} away first`,
  )
}

/** Adds the account to a permission error: after `becomeOwner`, the account might not be the user's own. */
function named(error: Error, data: string): Error {
  const { code } = (error.cause ?? error) as NodeJS.ErrnoException
  if (code !== 'EACCES' && code !== 'EPERM') return error
  const advice = `a restore must run as root or as the owner of ${data}, but it runs as uid ${process.getuid?.()}`
  return new Error(`${error.message}; ${advice}`, { cause: error })
}
