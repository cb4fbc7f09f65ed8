/**
 * The floor as a contender: one process of bare-server.ts per worker, all on one port. It answers every operation with
 * the same constant, of the mean size of topicd's answers in this workload.
 */
import { fileURLToPath } from 'node:url'
import { packageVersion } from '../measure/machine.js'
import { expectedBodies, type Script } from '../work/operation.js'
import { type Child, freePort, startChild } from './child.js'
import type { Contender, Running, Setting } from './contender.js'
import { topicdRequest } from './topicd-request.js'

const program = fileURLToPath(new URL('bare-server.js', import.meta.url))

/** Operations whose answers the mean length is calculated from. */
const sampledOperationsMax = 2000

export const bare: Contender = {
  name: 'bare',
  version: `uWebSockets.js ${packageVersion('@uwsjs/linux-x64-20') ?? packageVersion('uWebSockets.js')}`,
  durability: 'stores nothing',
  start,
}

async function start(setting: Setting): Promise<Running> {
  const children: Child[] = []
  const port = await freePort()
  for (let i = 0; i < setting.workers; i++) {
    const child = await startChild({
      command: process.execPath,
      args: [program, String(port), String(setting.responseBytes)],
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

/** The mean length of the correct answers to some scripts: the size of the floor's answer. */
export function meanResponseBytes(scripts: readonly Script[]): number {
  const operations = new Set(scripts.flat().slice(0, sampledOperationsMax))
  const bytes = [...operations].map((operation) => Buffer.byteLength(expectedBodies(operation)[0] ?? ''))
  return Math.round(bytes.reduce((sum, length) => sum + length, 0) / bytes.length)
}
