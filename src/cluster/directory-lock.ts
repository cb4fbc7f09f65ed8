/**
 * The lock on a data directory: one service, or one tool, uses it at a time. It is a lock on the file `lock` in the
 * directory (flock, through util-linux's program of that name), held by an open file description that every process
 * that may open the store inherits. So the kernel releases it when the last of them is gone, however it died: a new
 * service cannot open the store while an orphaned writer of the last one may still be at work.
 */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** The lock, held until it is released and every process that inherited `descriptor` has ended. */
export interface DirectoryLock {
  readonly descriptor: number
  release(): void
}

/** Between two attempts to take it. */
const retryMs = 50

/** flock's exit status if another process holds the lock. */
const busyStatus = 1

/**
 * Takes the lock, waiting for processes that are about to end.
 *
 * @param waitMs how long to wait
 * @returns undefined when another process held it all that time
 * @throws Error when the directory cannot be made or used, or there is no `flock` program
 */
export async function lockDirectory(directory: string, waitMs: number): Promise<DirectoryLock | undefined> {
  const descriptor = openLock(directory)
  const deadline = Date.now() + waitMs
  while (!tryLock(descriptor)) {
    if (Date.now() >= deadline) {
      closeSync(descriptor)
      return undefined
    }
    await sleep(retryMs)
  }
  return { descriptor, release: () => closeSync(descriptor) }
}

function openLock(directory: string): number {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    return openSync(join(directory, 'lock'), 'a', 0o600)
  } catch (error) {
    const { message } = error as Error
    const cure = 'it must belong to the account of the service, and a systemd unit must allow to write there'
    throw new Error(`the data directory ${directory} cannot be used: ${message}; ${cure}`, { cause: error })
  }
}

/**
 * The mode of `directory`, as octal digits, if it gives other accounts access; undefined if it does not. Of a directory
 * that belongs to another account this one is in its group, as with the volumes of Kubernetes: then the group counts as this one.
 */
export function exposedMode(directory: string): string | undefined {
  const { mode, uid } = statSync(directory)
  const others = uid === process.getuid?.() ? 0o077 : 0o007
  return (mode & others) === 0 ? undefined : (mode & 0o777).toString(8)
}

function tryLock(descriptor: number): boolean {
  const { status, error, stderr } = spawnSync('flock', ['--exclusive', '--nonblock', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', descriptor],
  })
  if (error !== undefined)
    throw new Error('the program flock (of util-linux) is needed to lock the data directory', { cause: error })
  if (status !== 0 && status !== busyStatus) throw new Error(`flock failed: ${stderr.toString().trim()}`)
  return status === 0
}
