/** Runs the obvious server over PostgreSQL: programs/fastify-postgres-server.ts with its own engine. */
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { processTree } from '../measure/cpu.js'
import { packageVersion } from '../measure/machine.js'
import { expectedBodies, type Operation } from '../workloads/operation.js'
import { freePort, startChild } from './child.js'
import { engineVersion, isWorkload, missingEngine, startEngine } from './postgres-engine.js'
import type { Exchange, Running, Server, Setting } from './server.js'
import { topicdRequest } from './topicd-request.js'

const program = fileURLToPath(new URL('programs/fastify-postgres-server.js', import.meta.url))

export function fastifyPostgres(): Server {
  return {
    name: 'fastify + pg',
    version: `fastify ${packageVersion('fastify')}, pg ${packageVersion('pg')}, ${engineVersion}`,
    missing: missingEngine,
    dataFormat: `fastify-postgres-${engineVersion?.replace(/\W+/g, '-')}-1`,
    durability: 'fsync before the response',
    start,
  }
}

async function start({ directory }: Setting): Promise<Running> {
  const port = await freePort()
  const key = randomBytes(32).toString('base64url')
  const { engine, address } = await startEngine(directory)
  const child = await startChild({
    command: process.execPath,
    args: [program, String(port), address, key],
    ready: { line: (line) => line === 'listening' },
  })
  return {
    port,
    headers: { authorization: `Apikey ${key}`, 'content-type': 'application/json' },
    blankDigits: false,
    pids: () => [...processTree(child.pid), engine.pid],
    transientPids: () => processTree(engine.pid).slice(1).filter(isWorkload),
    exchange,
    async stop() {
      await child.stop()
      await engine.stop()
    },
  }
}

/** Unlike fastify over lmdb, it has no add and no remove. */
const supported = ['fetch', 'page', 'overwrite', 'create']

function exchange(operation: Operation): Exchange | undefined {
  if (!supported.includes(operation.kind)) return undefined
  if (operation.kind === 'page' && !('subtree' in operation.selector)) return undefined
  return { ...topicdRequest(operation), expected: expectedBodies(operation) }
}
