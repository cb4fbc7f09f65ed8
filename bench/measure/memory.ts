/** The private resident memory of a process: heap and buffers, without the mapped store. */
import { readFileSync } from 'node:fs'

/** In bytes. @param pid a running process */
export function anonymousBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024
}
