/**
 * Preloaded into the process of a test file. On exit it prints the CPU time of that process and of all children that it started and waited
 * for, such as services.
 */
import { readFileSync, writeSync } from 'node:fs'

/** The unit of /proc/PID/stat, on every architecture that Node.js runs on. */
const ticksPerSecond = 100

function readCpuSeconds(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  // Count from the end of the program's name, which may contain spaces: the 14th field and the next three.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  return ticks / ticksPerSecond
}

process.on('exit', () => writeSync(1, `# CPU ${readCpuSeconds()} s\n`))
