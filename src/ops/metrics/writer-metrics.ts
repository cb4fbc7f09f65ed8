/** The writer's statistics as metrics. What every process that commits counts is in worker-metrics.ts. */
import { counter, gauge, type Metric, one } from './metric.js'
import { commitCounts, processCounts, processMemory, writesInFlight } from './worker-metrics.js'
import type { WriterStats } from './writer-stats.js'

/** The counts of a writer, which are kept after its end. */
export function writerCountsOf(stats: WriterStats): Metric[] {
  return [
    ...commitCounts(stats),
    counter('topicd_writer_frames_total', 'Frames of writes that workers and tools have sent.', one(stats.frames)),
    ...processCounts(stats),
  ]
}

/** The current state of the writer. */
export function writerStateOf(stats: WriterStats): Metric[] {
  const { diskFreeBytes, diskFreeBytesMin, residentBytes, descriptors } = stats
  return [
    writesInFlight(stats),
    gauge('topicd_writer_resident_memory_bytes', 'Resident memory of the writer.', one(residentBytes)),
    gauge('topicd_writer_open_fds', 'Open file descriptors of the writer.', one(descriptors.open)),
    gauge('topicd_disk_free_bytes', "Free space of the data directory's file system.", one(diskFreeBytes)),
    gauge(
      'topicd_disk_free_bytes_min',
      'With less free space, writes that add bytes are refused.',
      one(diskFreeBytesMin),
    ),
    ...processMemory(stats),
  ]
}
