/**
 * The CPU time of other processes, user and system together, of all threads. It is read from /proc, so this works only on Linux.
 *
 * /proc/PID/task/TID/schedstat counts nanoseconds. /proc/PID/stat counts ticks of 10 ms but includes threads that have exited. Threads of
 * servers rarely exit, so nanoseconds are used unless a thread exited between the two readings.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** Linux reports times in ticks of this many seconds, independently of the kernel's own tick. */
const tickSeconds = 0.01

/** CPU time used so far, by thread and by process. */
export interface CpuReading {
  readonly nanoseconds: ReadonlyMap<string, number>
  readonly ticks: ReadonlyMap<number, number>
}

/** A process and all its descendants. */
export function processTree(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const parent = statFields(Number(name))?.[1]
    if (parent !== undefined) children.set(Number(parent), [...(children.get(Number(parent)) ?? []), Number(name)])
  }
  const tree = [pid]
  for (const member of tree) tree.push(...(children.get(member) ?? []))
  return tree
}

/**
 * @param transient processes that may have exited; one that exits between two readings is not counted
 * @throws Error if one of `pids` has exited
 */
export function readCpu(pids: readonly number[], transient: readonly number[] = []): CpuReading {
  const nanoseconds = new Map<string, number>()
  const ticks = new Map<number, number>()
  for (const pid of [...pids, ...transient]) {
    const fields = statFields(pid)
    if (fields === undefined && transient.includes(pid)) continue
    if (fields === undefined) throw new Error(`process ${pid} has exited`)
    ticks.set(pid, Number(fields[11]) + Number(fields[12]))
    for (const thread of threadsOf(pid)) {
      const used = readOr(`/proc/${pid}/task/${thread}/schedstat`)
      if (used !== undefined) nanoseconds.set(`${pid}/${thread}`, Number(used.split(' ')[0]))
    }
  }
  return { nanoseconds, ticks }
}

/** Seconds of CPU used between two readings of the same processes. */
export function cpuSeconds(before: CpuReading, after: CpuReading): number {
  const allThreadsLive = [...before.nanoseconds.keys()].every((thread) => after.nanoseconds.has(thread))
  if (before.nanoseconds.size > 0 && allThreadsLive) {
    return difference(before.nanoseconds, after.nanoseconds) / 1e9
  }
  return difference(before.ticks, after.ticks) * tickSeconds
}

function difference<Key>(before: ReadonlyMap<Key, number>, after: ReadonlyMap<Key, number>): number {
  let sum = 0
  for (const [key, value] of after) sum += value - (before.get(key) ?? 0)
  return sum
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** The fields of /proc/PID/stat that follow the program's name: state, parent, … */
function statFields(pid: number): string[] | undefined {
  const stat = readOr(`/proc/${pid}/stat`)
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** The file's text; undefined if its process or thread has exited. */
function readOr(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
