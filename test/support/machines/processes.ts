/** Processes of this machine, from /proc. */
import { readFileSync } from 'node:fs'

/** The living children of a process, in order of their start; empty if the process has exited. */
export function childrenOf(pid: number): number[] {
  return procFile(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number)
}

/** All descendants of a process, in no particular order. */
export function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])
}

/** Sends a signal to each process that has not exited. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

/** A file of a process in /proc; empty if the process has exited. */
function procFile(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    return ''
  }
}

/** The program and arguments of a process; empty if it has exited or is a zombie. */
export const commandLine = (pid: number): string => procFile(pid, 'cmdline')

/** Whether a living process has mapped a file with that name. */
export const maps = (pid: number, file: string): boolean => procFile(pid, 'maps').includes(`/${file}\n`)

/** A field of /proc/PID/stat, counted from the field after the program's name. */
function statField(pid: number, index: number): number {
  return Number(readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[index])
}

/** The processor time that a process has used, in ms: user and system time, which the kernel counts in hundredths of a second. */
export const processorMs = (pid: number): number => (statField(pid, 11) + statField(pid, 12)) * 10

/** Number of times that a process waited until a page of its memory or of a mapped file was read from the disk. */
export const majorFaults = (pid: number): number => statField(pid, 9)

/** A process's memory, in MiB: its private memory, and its total memory with the pages of mapped files. */
export function residentMiB(pid: number): { readonly own: number; readonly all: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  const mib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
  return { own: mib('RssAnon'), all: mib('VmRSS') }
}

/** Whether the system reads ahead when a process accesses pages of a file; undefined if the process does not map the file. */
export function readsAhead(pid: number, file: string): boolean | undefined {
  const [, mapping] = readFileSync(`/proc/${pid}/smaps`, 'utf8').split(`${file}\n`)
  const flags = /^VmFlags: (.*)$/m.exec(mapping ?? '')?.[1]
  return flags === undefined ? undefined : !flags.split(' ').includes('rr')
}
