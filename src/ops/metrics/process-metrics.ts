/** The part that the tables of all processes share: resource usage and lost log lines. */
import { readdirSync } from 'node:fs'
import { descriptorsMax } from '../../http/connections.js'
import { logLinesDropped } from '../log.js'
import { counter, gauge, type Table } from './metric.js'

interface Usage {
  /** In microseconds. */
  readonly cpu: { readonly user: number; readonly system: number }
  /** In bytes. */
  readonly memory: { readonly rss: number; readonly heapUsed: number }
  /** Open file descriptors and their limit; undefined if the system does not report them. */
  readonly descriptors: { readonly open: number | undefined; readonly max: number | undefined }
}

export interface ProcessSources {
  readonly usage: Usage
}

export const processTable: Table<ProcessSources> = {
  topicd_log_lines_dropped_total: counter('Log lines that could not be written.', logLinesDropped),
  process_cpu_user_seconds_total: counter(
    'User CPU time of all processes, in seconds.',
    ({ usage }) => usage.cpu.user / 1e6,
  ),
  process_cpu_system_seconds_total: counter(
    'System CPU time of all processes, in seconds.',
    ({ usage }) => usage.cpu.system / 1e6,
  ),
  process_cpu_seconds_total: counter(
    'CPU time of all processes, in seconds.',
    ({ usage: { cpu } }) => cpu.user / 1e6 + cpu.system / 1e6,
  ),
  process_resident_memory_bytes: gauge(
    'Resident memory of all processes; shared pages are counted in each.',
    ({ usage }) => usage.memory.rss,
  ),
  nodejs_heap_size_used_bytes: gauge('JavaScript heap in use in all processes.', ({ usage }) => usage.memory.heapUsed),
}

export function readUsage(): Usage {
  const max = descriptorsMax()
  const descriptors = { open: countDescriptors(), max: Number.isFinite(max) ? max : undefined }
  return { cpu: process.cpuUsage(), memory: process.memoryUsage(), descriptors }
}

function countDescriptors(): number | undefined {
  try {
    // The listing itself uses one descriptor.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return undefined
  }
}
