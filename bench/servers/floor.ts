/**
 * Shared by the floors: one process per worker, all on one port. Each returns the same constant for every operation, of the mean size of
 * topicd's responses in this workload. Written values cannot be read back.
 */
import { expectedBodies, type Script } from '../workloads/operation.js'
import { type Child, freePort, startChild } from './child.js'
import type { Running, Setting } from './server.js'
import { topicdRequest } from './topicd-request.js'

/** Operations whose responses the mean length is calculated from. */
const sampledOperationsMax = 2000

/**
 * Starts a floor.
 *
 * @param program its file; its arguments are a port, the response size, and the result of `moreArguments` for the worker's number
 */
export async function startFloor(
  program: string,
  setting: Setting,
  moreArguments: (worker: number) => readonly string[] = () => [],
): Promise<Running> {
  const children: Child[] = []
  const port = await freePort()
  for (let i = 0; i < setting.workers; i++) {
    const child = await startChild({
      command: process.execPath,
      args: [program, String(port), String(setting.responseBytes), ...moreArguments(i)],
      ready: { line: (line) => line === 'listening' },
    })
    children.push(child)
  }
  const expected = [`"${'x'.repeat(setting.responseBytes - 2)}"`]
  return {
    port,
    headers: { authorization: `Apikey ${'x'.repeat(50)}`, 'content-type': 'application/json' },
    blankDigits: false,
    pids: () => children.map((child) => child.pid),
    exchange: (operation) => ({ ...topicdRequest(operation), expected }),
    stop: async () => void (await Promise.all(children.map((child) => child.stop()))),
  }
}

/** The mean length of the correct responses to some scripts: the size of a floor's response. */
export function meanResponseBytes(scripts: readonly Script[]): number {
  const operations = new Set(scripts.flat().slice(0, sampledOperationsMax))
  const bytes = [...operations].map((operation) => Buffer.byteLength(expectedBodies(operation)[0] ?? ''))
  return Math.round(bytes.reduce((sum, length) => sum + length, 0) / bytes.length)
}
