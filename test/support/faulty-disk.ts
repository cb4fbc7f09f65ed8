/**
 * A service under strace, which counts the system calls on a store's files, or lets some of them fail: the nth of each
 * thread that makes so many.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a service does with its files. */
export const diskCalls = ['pwrite64', 'writev', 'fdatasync', 'openat', 'ftruncate'] as const
export type DiskCall = (typeof diskCalls)[number]

export interface Fault {
  readonly call: DiskCall
  readonly error: 'EIO' | 'ENOSPC'
  /** Which call of a thread fails, from 1. */
  readonly nth: number
}

export interface TracedCall {
  readonly thread: number
  readonly call: string
  readonly isInjected: boolean
}

/**
 * The options of strace that count the calls on a store's files, or let one of them fail.
 *
 * @param log the file that will have the calls
 * @param dataDir the data directory, which need not exist
 * @param fault none to count only
 */
export function tracing(log: string, dataDir: string, fault?: Fault): readonly string[] {
  const files = ['lock', 'topics/data.mdb', 'topics/lock.mdb'].flatMap((name) => ['-P', join(dataDir, name)])
  const inject = fault === undefined ? [] : ['-e', `inject=${fault.call}:error=${fault.error}:when=${fault.nth}`]
  return ['-o', log, '-e', `trace=${diskCalls.join()}`, ...inject, ...files]
}

/** Makes a program that starts Node.js under strace. With -D it keeps its process id: strace is its grandchild. */
export function tracedNode(file: string, options: readonly string[]): void {
  const strace = `strace -D -f -qq --seccomp-bpf ${options.join(' ')}`
  writeFileSync(file, `#!/bin/sh\nexec ${strace} ${process.execPath} "$@"\n`, { mode: 0o755 })
}

/** The calls in a log, and what became of each. */
export function callsIn(log: string): readonly TracedCall[] {
  return [...readFileSync(log, 'utf8').matchAll(/^(\d+) +(\w+)\((.*)$/gm)].map(([, thread, call = '', rest = '']) => ({
    thread: Number(thread),
    call,
    isInjected: rest.includes('(INJECTED)'),
  }))
}

/** How often the busiest thread makes a call. */
export function mostOf(calls: readonly TracedCall[], wanted: DiskCall): number {
  const byThread = new Map<number, number>()
  for (const { thread, call } of calls) if (call === wanted) byThread.set(thread, (byThread.get(thread) ?? 0) + 1)
  return Math.max(0, ...byThread.values())
}
