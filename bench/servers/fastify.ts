/** Runs the obvious server: programs/fastify-server.ts in one process, or in a cluster of several. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { processTree } from '../measure/cpu.js'
import { packageVersion } from '../measure/machine.js'
import { expectedBodies, type Operation } from '../workloads/operation.js'
import { freePort, startChild } from './child.js'
import type { Exchange, Running, Server, Setting } from './server.js'
import { topicdRequest } from './topicd-request.js'

const program = fileURLToPath(new URL('programs/fastify-server.js', import.meta.url))

export const fastify: Server = {
  name: 'fastify + lmdb',
  version: `fastify ${packageVersion('fastify')}, lmdb ${packageVersion('lmdb')}`,
  dataFormat: 'fastify-1',
  durability: 'fsync before the response',
  start,
}

async function start(setting: Setting): Promise<Running> {
  const port = await freePort()
  const key = randomBytes(32).toString('base64url')
  const data = join(setting.directory, 'data')
  mkdirSync(data, { recursive: true })
  const child = await startChild({
    command: process.execPath,
    args: [program, String(port), data, String(setting.workers), key],
    ready: { line: (line) => line === 'listening' },
  })
  return {
    port,
    headers: { authorization: `Apikey ${key}`, 'content-type': 'application/json' },
    blankDigits: false,
    pids: () => processTree(child.pid),
    exchange,
    stop: child.stop,
  }
}

/** It has no fetches of many paths, batches, constraints, listings, plain sets or increments. */
const supported = ['fetch', 'page', 'overwrite', 'create', 'add', 'remove']

function exchange(operation: Operation): Exchange | undefined {
  if (!supported.includes(operation.kind)) return undefined
  if (operation.kind === 'page' && !('subtree' in operation.selector)) return undefined
  return { ...topicdRequest(operation), expected: expectedBodies(operation) }
}
