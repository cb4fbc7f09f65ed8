/**
 * Turns the copy of a backup into the store of a data directory: copy to a separate directory next to the store's → flush →
 * check everything in a child process → rename → flush the directories. A crash or power cut at any time leaves either no
 * store or a complete one. A copy that is not renamed is removed: at the end, on a terminating signal or, after a kill, by
 * the next restore.
 */
import { createReadStream, createWriteStream, existsSync, mkdirSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { complain } from '../../base/stderr.js'
import { toolLine } from '../../cluster/control/protocol.js'
import type { DirectoryLock } from '../../cluster/directory-lock.js'
import type { Config } from '../../settings/config.js'
import { dataFile, flush, requireSpace, stagingDirectory } from '../../store/lmdb/environment/files.js'
import { moveToNew } from '../../store/lmdb/file/move-to-new.js'
import { createReport } from '../../tools/progress.js'
import { isCheckLine } from '../../tools/validators.js'
import { Progress } from '../progress.js'
import { DamagedStore, runAlone } from './standalone-tool.js'
import { converse } from './store-client.js'

export interface Backup {
  readonly file: string
  /** Open for reading. */
  readonly descriptor: number
  readonly bytes: number
}

/** Signals with which a user or a service manager ends a command. */
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Turns a copy of the backup into the store of `location.data`, durably.
 *
 * @param lock the lock on the data directory, which the caller releases
 * @throws Error if the backup is damaged, the disk fails, or a store exists; the message tells whether a store was restored
 */
export async function restoreCopy(location: Config, lock: DirectoryLock, backup: Backup): Promise<void> {
  const { data } = location
  const directory = dirname(dataFile(data))
  const staging = stagingDirectory(data)
  const isNew = !existsSync(directory)
  function clean(): void {
    try {
      rmSync(staging, { recursive: true, force: true })
    } catch (error) {
      complain(`${staging} could not be removed: ${(error as Error).message}`)
    }
    if (isNew) removeIfEmpty(directory)
  }
  const stopCleaning = cleanWhenEnded(clean)
  try {
    await explained('nothing was restored', async () => {
      rmSync(staging, { recursive: true, force: true })
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      await stage(location, lock, backup)
      publish(data)
    })
    const undone = `${dataFile(data)} was restored, but a power cut may still undo it`
    await explained(undone, () => flush(directory))
  } finally {
    stopCleaning()
    clean()
  }
}

async function stage(location: Config, lock: DirectoryLock, backup: Backup): Promise<void> {
  const staging = stagingDirectory(location.data)
  const copy = dataFile(staging)
  requireSpace(dirname(staging), backup.bytes, location.diskFreeBytesMin)
  mkdirSync(dirname(copy), { recursive: true, mode: 0o700 })
  await writeCopy(backup, copy)
  flush(copy)
  await checkInChild({ ...location, data: staging }, lock, backup.file)
  flush(copy)
}

function publish(data: string): void {
  // The lock file of a store that was moved away. No process has it open because we hold the directory's lock.
  rmSync(join(dirname(dataFile(data)), 'lock.mdb'), { force: true })
  flush(data)
  if (!moveToNew(dataFile(stagingDirectory(data)), dataFile(data)))
    throw new Error(`a store has appeared in ${data} in the meantime, and a restore never replaces one`)
}

/** Prefixes the errors of `work` with the outcome. */
async function explained<T>(outcome: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new Error(`${outcome}: ${(error as Error).message}`, { cause: error })
  }
}

/** Makes terminating signals call `clean` first. @returns a function that undoes this */
function cleanWhenEnded(clean: () => void): () => void {
  const stop = (): void => {
    for (const signal of endingSignals) process.off(signal, end)
  }
  const end = (signal: NodeJS.Signals): void => {
    clean()
    // If another listener remained, such as a monitoring agent's, the restore would continue and report its missing copy.
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  }
  for (const signal of endingSignals) process.on(signal, end)
  return stop
}

async function writeCopy({ descriptor, bytes }: Backup, copy: string): Promise<void> {
  const progress = new Progress()
  const report = createReport({ emit: async (line) => void progress.take(String(line)) })
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

/** @throws Error that names the backup rather than the copy */
async function checkInChild(copy: Config, lock: DirectoryLock, file: string): Promise<void> {
  const findings: string[] = []
  try {
    const held = { descriptor: lock.descriptor, release() {} }
    await converse(runAlone(copy, held, { kind: 'tool', work: { tool: 'check', options: {} } }), (text) => {
      const line = toolLine(text, isCheckLine)
      if ('finding' in line) findings.push(line.finding)
    })
    if (findings[0] !== undefined) throw new Error(`${file} is damaged: ${findings[0]}`)
  } catch (error) {
    const { message } = error as Error
    const reason =
      error instanceof DamagedStore
        ? `${file} is damaged: the process reading it crashed (${error.signal})`
        : message.replaceAll(dataFile(copy.data), file)
    throw new Error(reason, { cause: error })
  }
}

function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory)
  } catch {
    // It contains the store, or files of other programs.
  }
}
