/** The table of the writer. */
import type { StoreMonitor } from '../../store/monitoring.js'
import { type CommitSources, commitTable } from './commit-metrics.js'
import { counter, gauge, type Table } from './metric.js'
import { type ProcessSources, processTable } from './process-metrics.js'

interface WriterSources extends CommitSources, ProcessSources {
  readonly store: Pick<StoreMonitor, 'commits' | 'disk'>
  readonly frames: () => number
}

export const writerTable: Table<WriterSources> = {
  ...commitTable,
  topicd_writer_frames_total: counter('Frames of writes received from workers and tools.', ({ frames }) => frames()),
  topicd_writer_resident_memory_bytes: gauge('Resident memory of the writer.', ({ usage }) => usage.memory.rss),
  topicd_writer_open_fds: gauge('Open file descriptors of the writer.', ({ usage }) => usage.descriptors.open),
  topicd_disk_free_bytes: gauge(
    "Free space of the data directory's file system.",
    ({ store }) => store.disk?.freeBytes() ?? 0,
  ),
  topicd_disk_free_bytes_min: gauge(
    'Free space below which writes that add bytes are rejected.',
    ({ store }) => store.disk?.freeBytesMin ?? 0,
  ),
  ...processTable,
}
