/**
 * A service under strace, which counts the system calls on one of a store's files, or lets some of them fail: the nth of
 * each thread that makes so many. One file at a time, since a failed call often ends what would have made the next one.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Writes, flushes and openings. */
const diskCalls = ['pwrite64', 'pwritev', 'writev', 'write', 'ftruncate', 'fdatasync', 'fsync', 'openat'] as const
type DiskCall = (typeof diskCalls)[number]

/** Of a data directory: the primary's lock, the store and lmdb's lock, the mark of a creation, and their directory. */
const diskFiles = ['lock', 'topics', 'topics/new', 'topics/data.mdb', 'topics/lock.mdb'] as const
type DiskFile = (typeof diskFiles)[number]

export interface Fault {
  readonly call: DiskCall
  readonly error: 'EIO' | 'ENOSPC'
  /** Which call of a thread fails, from 1. */
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
 * The calls that there are on each file: until the service is up, by the threads that open the store, and then, by the
 * thread that commits. A case without any call fails.
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
 * The options of strace that count the calls on a file, or let one of them fail.
 *
 * @param log the file that will have the calls
 * @param dataDir the data directory, which need not exist
 * @param fault none to count only
 */
export function tracing(log: string, dataDir: string, file: DiskFile, fault?: Fault): readonly string[] {
  const inject = fault === undefined ? [] : ['-e', `inject=${fault.call}:error=${fault.error}:when=${fault.nth}`]
  return ['-o', log, '-e', `trace=${diskCalls.join()}`, ...inject, '-P', join(dataDir, file)]
}

/** Makes a program that starts Node.js under strace. With -D it keeps its process id: strace is its grandchild. */
export function tracedNode(file: string, options: readonly string[]): void {
  const strace = `strace -D -f -qq --seccomp-bpf ${options.join(' ')}`
  writeFileSync(file, `#!/bin/sh\nexec ${strace} ${process.execPath} "$@"\n`, { mode: 0o755 })
}

/** The calls in a log, and what became of each: one that another thread has interrupted has two lines. */
export function callsIn(log: string): readonly TracedCall[] {
  if (!existsSync(log)) return []
  const lines = readFileSync(log, 'utf8').matchAll(/^(\d+) +(?:<\.\.\. )?(\w+)(\(| resumed>)(.*)$/gm)
  return [...lines]
    .map(([, thread, call = '', , rest = '']) => ({ thread: Number(thread), call, rest }))
    .filter(({ rest }) => !rest.endsWith('<unfinished ...>'))
    .map(({ thread, call, rest }) => ({ thread, call, isInjected: rest.includes('(INJECTED)') }))
}

/** How often the busiest of some threads makes a call. @param counts whether a thread is one of them */
export function mostOf(calls: readonly TracedCall[], wanted: DiskCall, counts: (thread: number) => boolean): number {
  const byThread = new Map<number, number>()
  for (const { thread, call } of calls)
    if (call === wanted && counts(thread)) byThread.set(thread, (byThread.get(thread) ?? 0) + 1)
  return Math.max(0, ...byThread.values())
}
