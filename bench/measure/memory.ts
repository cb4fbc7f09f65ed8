/** The memory of a process of its own that is resident: heap and buffers, without the mapped store. */
import { readFileSync } from 'node:fs'

/** In bytes. @param pid a process that is running */
export function anonymousBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024
}
