/** Processes of this machine as /proc shows them. */
import { readFileSync } from 'node:fs'

/** The living children of a process, in order of their start; none of a process that is gone. */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** Its children, and theirs, in no certain order. */
export function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])
}

/** Its program and arguments; empty for a process that is gone, or a zombie. */
export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** Whether a living process has mapped a file of that name. */
export function maps(pid: number, file: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/maps`, 'latin1').includes(`/${file}\n`)
  } catch {
    return false
  }
}

/** The processor time that a process has used, in ms. */
export function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  // User and system time, in hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** How often a process had to wait for a page of its memory or of a file that it maps to be read from the disk. */
export function majorFaults(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  return Number(fields[9])
}

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
