/**
 * Reports, on SIGUSR2, the memory in use by a process of the product that loads this file (`NODE_OPTIONS=--import=…`). The handler collects
 * the garbage and writes the number of bytes to the file MEMORY_DIRECTORY/PID. The file MEMORY_DIRECTORY/PID.listens exists as soon as the
 * handler is installed; before that, the signal would kill the process. The process's resident memory would be less precise, because V8
 * keeps tens of MiB for young objects even if there are few of them.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

process.on('SIGUSR2', () => {
  // Another thread frees the memory of buffers; the second collection waits for it.
  collect()
  collect()
  const { total_physical_size: heapBytes, used_heap_size: usedHeapBytes } = getHeapStatistics()
  const resident = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'latin1'))
  const file = `${process.env.MEMORY_DIRECTORY}/${process.pid}`
  writeFileSync(`${file}.partial`, String(Number(resident[1]) * 1024 - heapBytes + usedHeapBytes))
  renameSync(`${file}.partial`, file)
})
writeFileSync(`${process.env.MEMORY_DIRECTORY}/${process.pid}.listens`, '')
