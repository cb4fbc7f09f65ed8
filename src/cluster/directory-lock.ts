/**
 * The lock on a data directory: only one service, or one tool, uses the directory at a time. It is a lock on the file `lock` in the
 * directory (flock, through the util-linux program). Every process that may open the store inherits the open file description. The
 * kernel releases the lock when the last of these processes is gone, even after a crash. So a new service cannot open the store
 * while an orphaned writer of the previous service may still be running.
 */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** The lock, held until it is released and every process that inherited `descriptor` has exited. */
export interface DirectoryLock {
  readonly descriptor: number
  release(): void
}

const retryMs = 50

/** flock's exit status if another process holds the lock. */
const busyStatus = 1

/**
 * Waits for processes that are about to exit; undefined if a process still holds the lock after `waitMs`.
 *
 * @throws Error if the directory cannot be created or used, or there is no `flock` program
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

/** Error codes for missing permissions. In a systemd unit with a restricted file system, mkdir may fail with ENOENT. */
const forbidden: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOENT'])

function openLock(directory: string): number {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    return openSync(join(directory, 'lock'), 'a', 0o600)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const cure = forbidden.has(code)
      ? "; it must belong to the service's account, and a systemd unit must allow writes to it"
      : ''
    throw new Error(`the data directory ${directory} cannot be used: ${message}${cure}`, { cause: error })
  }
}

/** Undefined if no other account has access. A group is allowed if this account has its own access through it, as with Kubernetes. */
export function exposure(directory: string): { readonly mode: string; readonly cure: string } | undefined {
  const { mode, uid, gid } = statSync(directory)
  const isOwn = uid === process.getuid?.()
  const isByGroup = !isOwn && (process.getgid?.() === gid || process.getgroups?.().includes(gid) === true)
  if ((mode & (isByGroup ? 0o007 : 0o077)) === 0) return undefined
  const cure = isOwn ? 'run chmod 700 on it' : 'it should belong to this account, with mode 700'
  return { mode: (mode & 0o777).toString(8), cure }
}

function tryLock(descriptor: number): boolean {
  const { status, error, stderr } = spawnSync('flock', ['--exclusive', '--nonblock', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', descriptor],
  })
  if (error !== undefined)
    throw new Error('the program flock (package util-linux) is needed to lock the data directory', { cause: error })
  if (status !== 0 && status !== busyStatus) throw new Error(`flock failed: ${stderr.toString().trim()}`)
  return status === 0
}
