/**
 * How the copy of a backup becomes the store of a data directory. Copy to a directory of its own, beside where the
 * store will be → flush → check all of it in a child process → rename → flush the directories. So a crash or a power cut
 * at any moment leaves either no store or the whole one. A copy that is not renamed is removed: at the end, by a signal
 * that ends the process, or, after a kill, by the next restore.
 */
import {
  closeSync,
  createReadStream,
  createWriteStream,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { checkLineIn } from '../cluster/control-protocol.js'
import type { DirectoryLock } from '../cluster/directory-lock.js'
import type { StoreLocation } from '../cluster/messages.js'
import { dataFile, stagingDirectory } from '../store/lmdb/files.js'
import { topicsProblem } from '../store/lmdb/foreign.js'
import { createReport } from '../tools/progress.js'
import { createProgress } from './progress.js'
import { DamagedStore, runAlone } from './standalone-tool.js'
import { converse } from './store-client.js'

/** A backup, opened for reading. */
export interface Backup {
  readonly file: string
  readonly descriptor: number
  readonly bytes: number
}

/** How a person or a service manager ends a command. */
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Makes the copy the store of `location.data`, durably.
 *
 * @param lock the lock on the data directory, which has no store; the caller releases it
 * @returns how many records were checked
 * @throws Error when the backup is not sound, or the disk fails; it says whether there is a store then
 */
export async function restoreCopy(location: StoreLocation, lock: DirectoryLock, backup: Backup): Promise<number> {
  const { data } = location
  const directory = dirname(dataFile(data))
  const isNew = mkdirSync(directory, { recursive: true, mode: 0o700 }) !== undefined
  const staging = stagingDirectory(data)
  const copy = dataFile(staging)
  let isRestored = false
  function clean(): void {
    rmSync(staging, { recursive: true, force: true })
    if (isNew && !isRestored) rmdirSync(directory)
  }
  const stopCleaning = cleanWhenEnded(clean)
  try {
    rmSync(staging, { recursive: true, force: true })
    requireSpace(directory, backup.bytes, location.diskFreeBytesMin)
    mkdirSync(dirname(copy), { recursive: true, mode: 0o700 })
    await writeCopy(backup, copy)
    sync(copy)
    const records = await checkCopy({ ...location, data: staging }, lock, backup.file)
    sync(copy)
    // A lock file of a store that was moved away; nobody has it open, since we hold the directory's lock.
    rmSync(join(directory, 'lock.mdb'), { force: true })
    sync(data)
    renameSync(copy, dataFile(data))
    isRestored = true
    sync(directory)
    return records
  } catch (error) {
    const outcome = isRestored
      ? `${dataFile(data)} is there, but a power cut may still undo it`
      : 'nothing was restored'
    throw new Error(`${outcome}: ${(error as Error).message}`, { cause: error })
  } finally {
    stopCleaning()
    clean()
  }
}

/** Lets a signal that ends the process call `clean` first. @returns a function that undoes this */
function cleanWhenEnded(clean: () => void): () => void {
  const stop = (): void => {
    for (const signal of endingSignals) process.off(signal, end)
  }
  const end = (signal: NodeJS.Signals): void => {
    stop()
    clean()
    process.kill(process.pid, signal)
  }
  for (const signal of endingSignals) process.on(signal, end)
  return stop
}

async function writeCopy({ descriptor, bytes }: Backup, copy: string): Promise<void> {
  const progress = createProgress()
  const report = createReport({
    emit: async (line) => void progress.take(String(line)),
    signal: new AbortController().signal,
  })
  async function* counted(pieces: Readable): AsyncGenerator<Buffer> {
    let done = 0
    for await (const piece of pieces as AsyncIterable<Buffer>) {
      yield piece
      report('copying', (done += piece.length), bytes)
    }
  }
  const target = createWriteStream(copy, { flags: 'wx', mode: 0o600 })
  await pipeline(createReadStream('', { fd: descriptor, start: 0 }), counted, target).finally(progress.end)
}

/** Checks everything in the copy. @throws Error that names the backup rather than the copy */
async function checkCopy(copy: StoreLocation, lock: DirectoryLock, file: string): Promise<number> {
  const progress = createProgress()
  const findings: string[] = []
  let records = 0
  try {
    const problem = topicsProblem(dataFile(copy.data))
    if (problem !== undefined) throw new Error(`${file} ${problem}`)
    const held = { descriptor: lock.descriptor, release() {} }
    await converse(runAlone(copy, held, 'check', {}), (text) => {
      if (progress.take(text)) return
      const line = checkLineIn(text)
      if ('checked' in line) records = line.checked.records
      else findings.push(line.finding)
    })
    if (findings[0] !== undefined) throw new Error(`${file} is damaged: ${findings[0]}`)
    return records
  } catch (error) {
    const { message } = error as Error
    const reason =
      error instanceof DamagedStore
        ? `${file} is damaged: reading it ended the process that did (${error.signal})`
        : message.replaceAll(dataFile(copy.data), file)
    throw new Error(reason, { cause: error })
  } finally {
    progress.end()
  }
}

function requireSpace(directory: string, bytes: number, freeBytesMin: number): void {
  const { bavail, bsize } = statfsSync(directory)
  const free = bavail * bsize
  if (free >= bytes + freeBytesMin) return
  throw new Error(`${directory} has ${free} bytes free; the backup takes ${bytes}, and ${freeBytesMin} must stay free`)
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
