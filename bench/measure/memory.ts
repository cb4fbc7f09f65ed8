/** The memory of a process that is resident, by its kind. */
import { readFileSync } from 'node:fs'

/** In bytes. */
export interface ResidentSet {
  /** Heap and buffers. */
  readonly anonymous: number
  /** Mapped files, which the kernel caches and can reclaim at any time. */
  readonly fileBacked: number
}

/** @param pid a process that is running */
export function residentSet(pid: number): ResidentSet {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kibibytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
  return { anonymous: kibibytes('RssAnon') * 1024, fileBacked: (kibibytes('RssFile') + kibibytes('RssShmem')) * 1024 }
}
