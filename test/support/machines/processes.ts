/** Processes of this machine as /proc shows them. */
import { readFileSync } from 'node:fs'

/** The living children of a process, in order of their start; none of a process that is gone. */
export function childrenOf(pid: number): number[] {
  return procFile(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number)
}

/** Its children, and theirs, in no certain order. */
export function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])
}

/** A file of a process in /proc; empty if the process is gone. */
function procFile(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    return ''
  }
}

/** Its program and arguments; empty for a process that is gone, or a zombie. */
export const commandLine = (pid: number): string => procFile(pid, 'cmdline')

/** Whether a living process has mapped a file of that name. */
export const maps = (pid: number, file: string): boolean => procFile(pid, 'maps').includes(`/${file}\n`)

/** A field of /proc/PID/stat, counted from the one after the name of the program. */
function statField(pid: number, index: number): number {
  return Number(readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[index])
}

/** The processor time that a process has used, in ms: user and system time, in hundredths of a second. */
export const processorMs = (pid: number): number => (statField(pid, 11) + statField(pid, 12)) * 10

/** How often a process had to wait for a page of its memory or of a file that it maps to be read from the disk. */
export const majorFaults = (pid: number): number => statField(pid, 9)

/** A process's memory, in MiB: its own, and all of it with the pages of files that it maps. */
export function residentMiB(pid: number): { readonly own: number; readonly all: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  const mib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
  return { own: mib('RssAnon'), all: mib('VmRSS') }
}

/** Whether the system reads ahead of the pages of a file that a process touches; undefined if it does not map the file. */
export function readsAhead(pid: number, file: string): boolean | undefined {
  const [, mapping] = readFileSync(`/proc/${pid}/smaps`, 'utf8').split(`${file}\n`)
  const flags = /^VmFlags: (.*)$/m.exec(mapping ?? '')?.[1]
  return flags === undefined ? undefined : !flags.split(' ').includes('rr')
}
