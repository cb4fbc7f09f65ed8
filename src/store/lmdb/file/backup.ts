/**
 * A backup: copy one snapshot, compacted → open the copy, check all of it and remove its store id → flush it to disk → give it its
 * name. So a file with that name is always complete, and was found to be sound. Until then the copy is in a directory next to it,
 * which is removed on failure.
 *
 * Copying keeps its snapshot open until it ends. Pages freed in the meantime are not reused, so the store's own file may grow. The
 * copy is opened under its own path, where no other process can be writing.
 */
import { chmodSync, existsSync, mkdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Cancellation, Cancelled } from '../../../base/cancellation.js'
import { check } from '../../core/check/check.js'
import type { BackupDone, Finding } from '../../maintenance.js'
import { type Environment, forgetStoreId, openEnvironment } from '../environment/environment.js'
import { dataFile, flush, freeBytes, requireSpace } from '../environment/files.js'
import { holdSnapshot } from '../view/engine.js'
import { moveToNew } from './move-to-new.js'

/** Interval between checks of the copy's progress and of the free space. */
const watchMs = 100

/** Copies everything, compacted, into a directory; copying cannot be stopped. */
type Copy = (directory: string) => Promise<void>

type OnProgress = (step: string, done: number, total: number) => void

/**
 * @param bytesUsed the approximate size of the copy
 * @param freeBytesMin the space that must stay free on the file's disk
 * @throws Cancelled once `cancellation` is set; otherwise an Error with a message for users. In both cases no files remain, but
 *   lmdb may still be copying
 */
export async function backup(
  copy: Copy,
  bytesUsed: number,
  freeBytesMin: number,
  file: string,
  onProgress: OnProgress,
  cancellation: Cancellation,
): Promise<BackupDone> {
  if (existsSync(file)) throw taken(file)
  const directory = dirname(file)
  if (!existsSync(directory))
    throw new Error(`there is no directory ${directory}, or the process that writes the backup cannot see it`)
  requireSpace(directory, bytesUsed, freeBytesMin, `about ${bytesUsed}`)
  const partial = `${file}.partial`
  makeDirectory(partial)
  const copied = dataFile(partial)
  function removePartial(): void {
    // lmdb has the file open while it copies: truncating it releases its space immediately.
    if (existsSync(copied)) truncateSync(copied)
    rmSync(partial, { recursive: true, force: true })
  }
  // Runs before any other listener, which might exit the process.
  process.prependListener('exit', removePartial)
  try {
    mkdirSync(dirname(copied))
    const onTick = (): void => onProgress('copying', sizeOf(copied), bytesUsed)
    await watchedCopy(copy, copied, freeBytesMin, onTick, cancellation)
    const records = await checkCopyAndForgetId(partial, onProgress, cancellation)
    // A small store is copied and checked before either step looks at `cancellation`.
    if (cancellation.aborted) throw new Cancelled()
    chmodSync(copied, 0o600)
    flush(copied)
    // Removes the old name, through which `removePartial` would truncate the backup.
    if (!moveToNew(copied, file)) throw taken(file)
    flush(directory)
    return { records, bytes: sizeOf(file) }
  } finally {
    removePartial()
    process.off('exit', removePartial)
  }
}

function taken(file: string): Error {
  return new Error(`${file} already exists; a backup never replaces a file`)
}

/** Rejects as soon as `cancellation` is set or too little space is left; the copy then continues unwatched. */
async function watchedCopy(
  copy: Copy,
  copied: string,
  freeBytesMin: number,
  onTick: () => void,
  cancellation: Cancellation,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const stopped = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      try {
        if (cancellation.aborted) throw new Cancelled()
        onTick()
        const free = freeBytes(dirname(copied))
        if (free < freeBytesMin)
          throw new Error(
            `the backup was stopped: only ${free} bytes are free on its disk, and ${freeBytesMin} must stay free`,
          )
      } catch (error) {
        reject(error as Error)
      }
    }, watchMs)
  })
  await Promise.race([copy(dirname(copied)).catch(explain), stopped]).finally(() => clearInterval(timer))
}

function makeDirectory(partial: string): void {
  try {
    mkdirSync(partial, { mode: 0o700 })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new Error(
      code === 'EEXIST'
        ? `${partial} already exists: it belongs to a backup that is running or was killed; if it was killed, delete it`
        : `${partial} cannot be created by the process that writes the backup (a process of the service, if the service is running): ${message}`,
    )
  }
}

/** LMDB's own errors, such as MDB_CORRUPTED, mean a damaged store; others are the system's, such as a full disk. */
function explain(error: Error): never {
  if (error.message.startsWith('MDB_')) throw unsound(error.message)
  throw error
}

function unsound(finding: Finding): Error {
  return new Error(`the store is damaged, so no backup was written: ${finding} (see topicd check)`)
}

/** Returns the number of records. The copy states its entry counts, so records lost in copying are found. */
async function checkCopyAndForgetId(
  directory: string,
  onProgress: OnProgress,
  cancellation: Cancellation,
): Promise<number> {
  const environment = openCopy(directory)
  let first: Finding | undefined
  try {
    const report = (finding: Finding): unknown => (first ??= finding)
    const onRecord = (done: number, total: number): void => onProgress('checking', done, total)
    const copy = { openSnapshot: () => holdSnapshot(environment) }
    const { records } = await check(copy, report, undefined, onRecord, cancellation)
    if (first !== undefined) throw unsound(first)
    forgetStoreId(environment)
    return records
  } finally {
    await environment.root.close()
  }
}

function openCopy(directory: string): Environment {
  try {
    return openEnvironment(directory, { readsInOrder: true })
  } catch (error) {
    throw unsound(`its copy cannot be opened: ${(error as Error).message}`)
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
