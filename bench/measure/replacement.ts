/**
 * What do clients notice when a worker is killed and replaced? All other workers pause their writes while the new one
 * opens the store, so the writes of the connections that survive wait. For each kill: a few writers over connections
 * that the kernel distributes over the workers, a time without a kill for comparison, SIGKILL to one worker, and
 * the longest that a write took until the new worker has opened the store. Then acknowledged writes are read back.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Writer } from '../drivers/writer.js'
import type { Running } from '../servers/server.js'
import type { Script } from '../workloads/operation.js'
import type { Tree } from '../workloads/tree.js'
import { usualScale } from '../workloads/workload.js'
import { overwrites } from '../workloads/writes/overwrite.js'
import { lostWrite } from './check.js'

/** Connections for each worker, and the least: with fewer, the killed worker would too often have had all of them. */
const connectionsPerWorker = 2
const connectionsMin = 4

/** Different writes of a connection. */
const writesOfConnection = 200

/** The time without a kill. */
const controlMs = 1000

/** Between two looks at the processes: each look costs this process some ms, in which it cannot read an answer. */
const pollMs = 100

/** Time for the writes that waited to be answered, after the store has been opened. */
const settleMs = 300

/** Time within which a killed worker must have been replaced. */
const replacedMsMax = 30_000

/** What the kills of workers among a number of them have shown. */
export interface Replacements {
  readonly workers: number
  readonly connections: number
  /** The longest write of any connection, in each time without a kill. */
  readonly undisturbedMs: readonly number[]
  /** The longest write of any surviving connection, for each kill that one survived. */
  readonly survivorsMs: readonly number[]
  /** For each connection that was lost: until the first answer over another one. */
  readonly reconnectedMs: readonly number[]
  readonly problem: string | undefined
}

/** What one kill has shown. */
interface Kill {
  readonly undisturbedMs: number
  readonly survivorsMs: readonly number[]
  readonly reconnectedMs: readonly number[]
  readonly problem: string | undefined
}

/** Kills a worker some times; stops after the first problem. */
export async function measureReplacements(
  running: Running,
  tree: Tree,
  workers: number,
  kills: number,
): Promise<Replacements> {
  const connections = Math.max(connectionsMin, connectionsPerWorker * workers)
  const done: Kill[] = []
  for (let i = 0; i < kills && done.every(({ problem }) => problem === undefined); i++) {
    const scale = { ...usualScale, topics: tree.topics, valueBytes: tree.valueBytes, connections }
    const scripts = overwrites(tree, scale, i).map((script) => script.slice(0, writesOfConnection))
    done.push(await killOne(running, scripts))
  }
  return {
    workers,
    connections,
    undisturbedMs: done.map((kill) => kill.undisturbedMs),
    survivorsMs: done.flatMap((kill) => kill.survivorsMs),
    reconnectedMs: done.flatMap((kill) => kill.reconnectedMs),
    problem: done.find(({ problem }) => problem !== undefined)?.problem,
  }
}

async function killOne(running: Running, scripts: readonly Script[]): Promise<Kill> {
  const writers = scripts.map(
    (script) =>
      new Writer(
        running,
        script.flatMap((write) => running.exchange(write) ?? []),
      ),
  )
  const longestMs = (of: readonly Writer[]): number[] =>
    of.length === 0 ? [] : [Math.max(...of.map((writer) => writer.takeLongestMs()))]
  try {
    await untilAllAnswered(writers)
    longestMs(writers)
    for (let waitedMs = 0; waitedMs < controlMs; waitedMs += pollMs) {
      running.pids()
      await sleep(pollMs)
    }
    const [undisturbed = 0] = longestMs(writers)
    let problem = writers.some(({ wasLost }) => wasLost) ? 'a connection was lost without a kill' : undefined
    problem ??= await replaceOne(running, writers)
    await Promise.all(writers.map((writer) => writer.stop()))
    problem ??= writers.find((writer) => writer.problem !== undefined)?.problem
    const answered = writers.map(({ answers }) => answers)
    return {
      undisturbedMs: undisturbed,
      survivorsMs: longestMs(writers.filter(({ wasLost }) => !wasLost)),
      reconnectedMs: writers.flatMap(({ reconnectedMs }) => reconnectedMs ?? []),
      problem: problem ?? (await lostWrite(running, scripts, answered)),
    }
  } finally {
    await Promise.all(writers.map((writer) => writer.stop()))
  }
}

/** So that opening the connections and the first read of each topic do not count. */
async function untilAllAnswered(writers: readonly Writer[]): Promise<void> {
  while (writers.some(({ answers, problem }) => answers < 10 && problem === undefined)) await sleep(pollMs)
}

/** Kills the oldest worker and waits until another one serves in its place. @returns what went wrong, or undefined */
async function replaceOne(running: Running, writers: readonly Writer[]): Promise<string | undefined> {
  const before = running.pids()
  const [, oldest] = before
  if (oldest === undefined) return 'there is no worker'
  process.kill(oldest, 'SIGKILL')
  const deadlineMs = performance.now() + replacedMsMax
  const isReplaced = (): boolean => running.pids().some((pid) => !before.includes(pid) && hasStoreOpen(pid))
  const hasProblem = ({ problem }: Writer): boolean => problem !== undefined
  while (!isReplaced()) {
    if (performance.now() > deadlineMs) return `no worker was replaced within ${replacedMsMax} ms`
    if (writers.some(hasProblem)) return undefined
    await sleep(pollMs)
  }
  while (writers.some(({ wasLost, reconnectedMs }) => wasLost && reconnectedMs === undefined)) {
    if (writers.some(hasProblem)) return undefined
    await sleep(pollMs)
  }
  await sleep(settleMs)
  return undefined
}

/** Whether a process has mapped a store's file; false when it has ended meanwhile. */
function hasStoreOpen(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/maps`, 'utf8').includes('/topics/data.mdb')
  } catch {
    return false
  }
}
