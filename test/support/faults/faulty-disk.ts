/**
 * A service under strace, which counts the system calls on one of a store's files, or makes the nth call of each thread fail. Only one file
 * is traced at a time, because a failed call often ends the program before its next one.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Writes, flushes and openings. */
const diskCalls = ['pwrite64', 'pwritev', 'writev', 'write', 'ftruncate', 'fdatasync', 'fsync', 'openat'] as const
type DiskCall = (typeof diskCalls)[number]

/** The files of a data directory: the primary's lock, the directory of the store, the mark of a creation, the store and lmdb's lock. */
const diskFiles = ['lock', 'topics', 'topics/new', 'topics/data.mdb', 'topics/lock.mdb'] as const
type DiskFile = (typeof diskFiles)[number]

export interface Fault {
  readonly call: DiskCall
  readonly error: 'EIO' | 'ENOSPC'
  /** The call of each thread that fails, counted from 1. */
  readonly nth: number
}

const scenes = ['first start', 'start', 'service'] as const
type Scene = (typeof scenes)[number]

const errors = ['EIO', 'ENOSPC'] as const

export interface DiskFaultCase {
  readonly name: string
  readonly scene: Scene
  readonly file: DiskFile
  readonly call: DiskCall
  readonly error: Fault['error']
}

/**
 * The calls on each file: first, until the service is up, by the threads that open the store; later by the thread that commits. A case
 * without any call fails.
 */
const callsOf: Readonly<Record<Scene, Partial<Record<DiskFile, readonly DiskCall[]>>>> = {
  'first start': {
    lock: ['openat'],
    topics: ['openat', 'fsync'],
    'topics/new': ['openat'],
    'topics/data.mdb': ['openat', 'pwrite64', 'writev', 'fdatasync'],
    'topics/lock.mdb': ['openat', 'ftruncate'],
  },
  start: {
    lock: ['openat'],
    'topics/data.mdb': ['openat', 'pwrite64', 'fdatasync'],
    'topics/lock.mdb': ['openat'],
  },
  service: { 'topics/data.mdb': ['pwrite64', 'writev', 'fdatasync'] },
}

/** The cases of the proof with failing disks. */
export const diskFaultCases: readonly DiskFaultCase[] = scenes.flatMap((scene) =>
  diskFiles.flatMap((file) =>
    (callsOf[scene][file] ?? []).flatMap((call) =>
      errors.map((error) => ({ name: `${scene}: ${call} of ${file}, ${error}`, scene, file, call, error })),
    ),
  ),
)

export interface TracedCall {
  readonly thread: number
  readonly call: string
  readonly isInjected: boolean
}

/**
 * The options of strace that count the calls on a file, or make one of them fail.
 *
 * @param log the file that receives the calls
 * @param dataDir the data directory, which need not exist
 * @param fault undefined to count only
 */
export function tracing(log: string, dataDir: string, file: DiskFile, fault?: Fault): readonly string[] {
  const inject = fault === undefined ? [] : ['-e', `inject=${fault.call}:error=${fault.error}:when=${fault.nth}`]
  return ['-o', log, '-e', `trace=${diskCalls.join()}`, ...inject, '-P', join(dataDir, file)]
}

/** Creates a program that starts Node.js under strace. -D keeps the program's process id: strace becomes its grandchild. */
export function tracedNode(file: string, options: readonly string[]): void {
  const strace = `strace -D -f -qq --seccomp-bpf ${options.join(' ')}`
  writeFileSync(file, `#!/bin/sh\nexec ${strace} ${process.execPath} "$@"\n`, { mode: 0o755 })
}

/** The calls in a log, and their outcomes. A call that another thread has interrupted takes two lines. */
export function callsIn(log: string): readonly TracedCall[] {
  if (!existsSync(log)) return []
  const lines = readFileSync(log, 'utf8').matchAll(/^(\d+) +(?:<\.\.\. )?(\w+)(\(| resumed>)(.*)$/gm)
  return [...lines]
    .map(([, thread, call = '', , rest = '']) => ({ thread: Number(thread), call, rest }))
    .filter(({ rest }) => !rest.endsWith('<unfinished ...>'))
    .map(({ thread, call, rest }) => ({ thread, call, isInjected: rest.includes('(INJECTED)') }))
}

/** The number of calls by the busiest thread. */
export function mostOf(calls: readonly TracedCall[], wanted: DiskCall): number {
  const byThread = new Map<number, number>()
  for (const { thread, call } of calls) if (call === wanted) byThread.set(thread, (byThread.get(thread) ?? 0) + 1)
  return Math.max(0, ...byThread.values())
}
