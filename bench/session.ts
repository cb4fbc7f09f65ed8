/**
 * Shared by all commands: a run's directory, its drivers and the line about the machine, with a clean-up that runs even after a failure;
 * the scale of a workload under the options; measuring workloads in turn.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { autocannonDriver } from './drivers/autocannon.js'
import type { Driver } from './drivers/driver.js'
import { wrkDriver } from './drivers/wrk.js'
import { type MeasureOptions, measure } from './measure/interleave.js'
import { type Machine, machine } from './measure/machine.js'
import { hasProblem, type Result } from './measure/result.js'
import { openSandbox, removeUnused } from './measure/sandbox.js'
import { type Options, UsageError } from './options.js'
import { resultLines } from './report/table.js'
import { stopChildren } from './servers/child.js'
import type { Running, Server } from './servers/server.js'
import { Tree, topicsOfBytes } from './workloads/tree.js'
import type { Scale, Workload } from './workloads/workload.js'

/** Topics of a smoke run's tree, and of its tree with big values. */
const smokeTopics = 500
const smokeBigTopics = 50
const bigBytesMin = 10_000

/** Maximum bytes of big values in a tree: each server has two copies on disk, the template and the sandbox. */
const bigTreeBytesMax = 250_000_000

/** The parts of a run that its workloads share. */
export interface Session {
  readonly options: Options
  readonly measureOptions: MeasureOptions
  readonly machine: Machine
  /** Prints for a reader: to stderr if stdout is for JSON. */
  readonly print: (text: string) => void
}

/** Sets up a run, runs `body`, and removes everything, even if `body` fails. */
export async function withSession<Value>(
  options: Options,
  servers: readonly Server[],
  body: (session: Session) => Promise<Value>,
): Promise<Value> {
  const print = (text: string): void => (options.json ? console.error(text) : console.log(text))
  const directory = await mkdtemp(join(options.directory, 'topicd-bench-run-'))
  const orderedDriver = autocannonDriver(directory)
  try {
    const driver = options.driver === 'wrk' ? installedWrk(directory) : orderedDriver
    const versions = [...servers, ...new Set([driver, orderedDriver])].flatMap(({ version }) => version ?? [])
    const about = machine(directory, [...new Set(versions)])
    print(about.line)
    for (const warning of about.warnings) print(`WARNING: ${warning}`)
    const sandboxes = { kept: options.kept, temporary: directory, print }
    await removeUnused(options.kept)
    const { rounds, seconds, workers } = options
    const measureOptions = { rounds, seconds, workers, warmUp: !options.smoke, sandboxes, driver, orderedDriver }
    return await body({ options, measureOptions, machine: about, print })
  } finally {
    await orderedDriver.stop()
    await stopChildren()
    await rm(directory, { recursive: true, force: true })
  }
}

/**
 * Measures workloads in turn and prints each result when it is ready.
 *
 * @param serversOf the servers that take part in a workload
 */
export async function measureAll(
  session: Session,
  workloads: readonly Workload[],
  serversOf: (workload: Workload) => readonly Server[],
): Promise<Result[]> {
  const results: Result[] = []
  for (const workload of workloads) {
    const scale = scaleOf(workload, session.options)
    const result = await measure(workload, scale, serversOf(workload), session.measureOptions)
    results.push(result)
    session.print(`\n${resultLines(result).join('\n')}`)
  }
  return results
}

/** A server running on the tree of a workload. */
interface Opened {
  readonly running: Running
  readonly tree: Tree
  readonly scale: Scale
  /** Stops the server and removes its data. */
  close(): Promise<void>
}

/** Starts a server on the tree of a workload, for commands that do not measure rounds of bursts. */
export async function openOn(server: Server, workload: Workload, session: Session): Promise<Opened> {
  const { options, measureOptions } = session
  const scale = scaleOf(workload, options)
  const tree = new Tree(scale.topics, scale.valueBytes)
  const setting = { workers: options.workers, responseBytes: 2 }
  const { running, close } = await openSandbox(server, tree, setting, measureOptions.sandboxes)
  return { running, tree, scale, close }
}

/** Whether all responses of all servers were correct. */
export function allCorrect(results: readonly Result[]): boolean {
  return !results.some(hasProblem)
}

/** The scale of a workload under the options. Big values limit the number of topics, even below `--topics`. */
export function scaleOf(workload: Workload, options: Options): Scale {
  const { scale } = workload
  const valueBytes = options.valueBytes ?? scale.valueBytes
  const isBig = valueBytes >= bigBytesMin
  const topics = options.topics ?? (options.smoke ? (isBig ? smokeBigTopics : smokeTopics) : scale.topics)
  return {
    topics: isBig ? Math.min(topics, topicsOfBytes(bigTreeBytesMax, valueBytes)) : topics,
    connections: options.connections ?? (options.smoke ? Math.min(scale.connections, 16) : scale.connections),
    valueBytes,
    pageSize: options.pageSize ?? scale.pageSize,
  }
}

function installedWrk(directory: string): Driver {
  const driver = wrkDriver(directory)
  if (driver === undefined) throw new UsageError('--driver wrk: wrk is not installed')
  return driver
}
