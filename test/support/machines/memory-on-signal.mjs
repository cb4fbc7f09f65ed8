/**
 * Loaded into a process of the product (`NODE_OPTIONS=--import=…`), it tells on SIGUSR2 how much memory is in use: it
 * collects the garbage, and writes the bytes to the file MEMORY_DIRECTORY/PID. MEMORY_DIRECTORY/PID.listens says that it
 * can be told to: the signal would end a process that does not listen yet. The process's resident memory says less,
 * since V8 keeps tens of MiB for young objects whether there are any or not.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

process.on('SIGUSR2', () => {
  // The memory of buffers is freed beside the program; the second collection waits for that.
  collect()
  collect()
  const { total_physical_size: heapBytes, used_heap_size: usedHeapBytes } = getHeapStatistics()
  const resident = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'latin1'))
  const file = `${process.env.MEMORY_DIRECTORY}/${process.pid}`
  writeFileSync(`${file}.partial`, String(Number(resident[1]) * 1024 - heapBytes + usedHeapBytes))
  renameSync(`${file}.partial`, file)
})
writeFileSync(`${process.env.MEMORY_DIRECTORY}/${process.pid}.listens`, '')
