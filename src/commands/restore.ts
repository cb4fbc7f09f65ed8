/**
 * `topicd restore FILE`: puts a backup into a data directory that has no store. Copy to a directory of its own in the
 * data directory → flush → check all of the copy in a child process → rename → flush the directory. So a crash at any
 * moment leaves either no store or the whole one; what is left of a restore that was killed is replaced by the next.
 *
 * As root it opens FILE, and then becomes the account that owns the data directory, for good: what that account has put
 * there, such as a link to another file, must not be followed with root's rights.
 */
import {
  closeSync,
  createReadStream,
  createWriteStream,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { checkLineIn } from '../cluster/control-protocol.js'
import { type DirectoryLock, lockDirectory } from '../cluster/directory-lock.js'
import type { StoreLocation } from '../cluster/messages.js'
import { readConfig } from '../config.js'
import { isExclusive } from '../store/address.js'
import { dataFile } from '../store/lmdb/files.js'
import { requireTopics } from '../store/lmdb/foreign.js'
import { type Command, storeSettings } from './command.js'
import { createProgress } from './progress.js'
import { runAlone } from './standalone-tool.js'
import { print } from './stdout.js'
import { converse } from './store-client.js'

/** Where the copy is until it is checked, in the data directory. */
const stagingName = 'restore.partial'

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
    const lock = await lockDirectory(data, 0)
    if (lock === undefined)
      throw new Error(`the data directory ${data} is in use; stop the service that runs on it first`)
    const { records, bytes } = await restoreLocked(location, lock, backup)
    await print(`${dataFile(data)}: ${bytes} bytes, ${records} records checked; the service can be started\n`)
  },
}

/** FILE, opened. */
interface Backup {
  readonly file: string
  readonly descriptor: number
  readonly bytes: number
}

function openBackup(file: string, data: string): Backup {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) throw new Error(`there is no file ${file}`)
  if (!stats.isFile()) throw new Error(`${file} is not a plain file, so it is no backup`)
  const staging = join(realpathSync(data), stagingName)
  if (realpathSync(file).startsWith(`${staging}/`)) {
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

/** Restores under the lock, which it releases. */
async function restoreLocked(
  location: StoreLocation,
  lock: DirectoryLock,
  { file, descriptor, bytes }: Backup,
): Promise<{ records: number; bytes: number }> {
  const { data } = location
  const staging = join(data, stagingName)
  const copied = dataFile(staging)
  try {
    // Another restore may have ended since the first look.
    requireNoStore(data)
    rmSync(staging, { recursive: true, force: true })
    requireSpace(data, bytes, location.diskFreeBytesMin)
    mkdirSync(dirname(copied), { recursive: true, mode: 0o700 })
    await pipeline(
      createReadStream('', { fd: descriptor, start: 0 }),
      createWriteStream(copied, { flags: 'wx', mode: 0o600 }),
    )
    sync(copied)
    const records = await checkCopy({ ...location, data: staging }, lock, file)
    sync(copied)
    const topics = dirname(dataFile(data))
    mkdirSync(topics, { recursive: true, mode: 0o700 })
    // A lock file of a store that was moved away; nobody has it open, since we hold the directory's lock.
    rmSync(join(topics, 'lock.mdb'), { force: true })
    sync(data)
    renameSync(copied, dataFile(data))
    sync(topics)
    return { records, bytes: statSync(dataFile(data)).size }
  } finally {
    rmSync(staging, { recursive: true, force: true })
    lock.release()
  }
}

/** Checks everything in the copy. @throws Error that names the backup rather than the copy */
async function checkCopy(copy: StoreLocation, lock: DirectoryLock, file: string): Promise<number> {
  const progress = createProgress()
  const findings: string[] = []
  let records = 0
  try {
    requireTopics(dataFile(copy.data))
    const held = { descriptor: lock.descriptor, release() {} }
    await converse(runAlone(copy, held, 'check', {}), (text) => {
      if (progress.take(text)) return
      const line = checkLineIn(text)
      if ('checked' in line) records = line.checked.records
      else findings.push(line.finding)
    })
    if (findings[0] !== undefined) throw new Error(findings[0])
    return records
  } catch (error) {
    const reason = (error as Error).message.replaceAll(dataFile(copy.data), file)
    throw new Error(`${file} is not a sound backup, and nothing was restored: ${reason}`, { cause: error })
  } finally {
    progress.end()
  }
}

function requireSpace(data: string, bytes: number, freeBytesMin: number): void {
  const { bavail, bsize } = statfsSync(data)
  const free = bavail * bsize
  if (free >= bytes + freeBytesMin) return
  throw new Error(`${data} has ${free} bytes free; the backup takes ${bytes}, and ${freeBytesMin} must stay free`)
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
