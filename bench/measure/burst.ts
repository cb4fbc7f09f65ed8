/** One burst of load on one server, with the CPU time that the server's processes use during it. */
import type { Burst, Driver, Job } from '../drivers/driver.js'
import type { Exchange, Running } from '../servers/server.js'
import type { Operation, Script } from '../workloads/operation.js'
import { type CpuReading, cpuSeconds, readCpu } from './cpu.js'
import type { Round } from './result.js'

/** A burst and the CPU time that the server used during it. */
export interface MeasuredBurst {
  readonly burst: Burst
  readonly serverSeconds: number
}

/**
 * Runs the scripts for `seconds`.
 *
 * @throws Error if one of the server's processes exits during the burst
 */
export async function runBurst(
  running: Running,
  scripts: readonly Script[],
  seconds: number,
  driver: Driver,
): Promise<MeasuredBurst> {
  const job = createJob(running, scripts, seconds)
  const pids = running.pids()
  const read = (): CpuReading => readCpu(pids, running.transientPids?.())
  const before = read()
  const burst = await driver.run(job)
  return { burst, serverSeconds: cpuSeconds(before, read()) }
}

/** The figures of a burst and, if the floor took part, their ratio to the floor's in the same round. */
export function roundOf(measured: MeasuredBurst, floor: MeasuredBurst | undefined): Round {
  const { burst, serverSeconds } = measured
  return {
    microsecondsPerRequest: cost(measured),
    ratio: floor === undefined ? undefined : cost(measured) / cost(floor),
    requestsPerSecond: burst.requests / burst.seconds,
    latencyMedianMs: burst.latencyMedianMs,
    latency99Ms: burst.latency99Ms,
    serverLoad: serverSeconds / burst.seconds,
    driverLoad: burst.driverSeconds / burst.seconds,
  }
}

function cost({ burst, serverSeconds }: MeasuredBurst): number {
  return (serverSeconds * 1e6) / burst.requests
}

/** Turns each different operation into one exchange, and scripts into lists of indices. */
function createJob(running: Running, scripts: readonly Script[], seconds: number): Job {
  const indices = new Map<Operation, number>()
  const exchanges: Exchange[] = []
  const indexOf = (operation: Operation): number => {
    const known = indices.get(operation)
    if (known !== undefined) return known
    const exchange = running.exchange(operation)
    if (exchange === undefined) throw new Error(`${operation.kind} is not supported`)
    indices.set(operation, exchanges.length)
    return exchanges.push(exchange) - 1
  }
  const { port, headers, blankDigits } = running
  return { port, headers, blankDigits, seconds, scripts: scripts.map((script) => script.map(indexOf)), exchanges }
}
