/**
 * topicd on its own PostgreSQL, both on this machine: the same requests and responses as topicd on lmdb. Its directory contains the
 * engine's data and topicd's. A second server does not batch: each request is its own statement and commit. Two more have a synchronous
 * standby, without and with fenced reads.
 */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { processTree } from '../measure/cpu.js'
import { root } from '../measure/machine.js'
import { expectedBodies } from '../workloads/operation.js'
import { cleanEnvironment } from './child.js'
import { engineVersion, isWorkload, missingEngine, startEngine, startStandby } from './postgres-engine.js'
import type { Running, Server, Setting } from './server.js'
import { startService } from './topicd.js'
import { topicdRequest } from './topicd-request.js'

const run = promisify(execFile)

/** A running server with its engine's address. */
export interface PostgresRunning extends Running {
  readonly address: string
}

interface PostgresServer extends Server {
  start(setting: Setting): Promise<PostgresRunning>
}

/** topicd as built, on PostgreSQL. */
export function postgres(): PostgresServer {
  return server('postgres', () => join(root, 'dist'))
}

/** The same server with one statement per request. */
export function postgresUnbatched(): PostgresServer {
  return server('postgres-unbatched', unbatchedBuild)
}

/**
 * topicd on an engine with a synchronous standby.
 *
 * @param fenced whether fetches wait for proof that the engine is still primary
 */
export function postgresWithStandby(fenced: boolean): PostgresServer {
  return server(fenced ? 'postgres-fenced' : 'postgres-standby', () => join(root, 'dist'), true, {
    TOPICD_FENCED_READS: String(fenced),
  })
}

function server(
  name: string,
  dist: () => string,
  hasStandby = false,
  environment: Readonly<Record<string, string>> = {},
): PostgresServer {
  return {
    name,
    version: engineVersion,
    missing: missing(),
    dataFormat: `postgres-${engineVersion?.replace(/\W+/g, '-')}-1`,
    durability: 'fsync before the response',
    start: (setting) => start(dist(), setting, hasStandby, environment),
  }
}

function missing(): string | undefined {
  return (
    missingEngine ??
    (existsSync(join(root, 'dist/main.js')) ? undefined : 'dist/main.js does not exist: run "npm run build" first')
  )
}

async function start(
  dist: string,
  setting: Setting,
  hasStandby: boolean,
  added: Readonly<Record<string, string>>,
): Promise<PostgresRunning> {
  const main = join(dist, 'main.js')
  const tokenFile = join(setting.directory, 'token')
  const { engine, address } = await startEngine(setting.directory)
  const standby = hasStandby ? await startStandby(setting.directory, address) : undefined
  const environment = { TOPICD_STORE: address, ...added }
  const data = join(setting.directory, 'data')
  await run(process.execPath, [main, 'migrate'], { env: { ...cleanEnvironment, ...environment } })
  if (!existsSync(tokenFile)) {
    const { stdout } = await run(process.execPath, [main, 'keys', 'add', 'bench', '--data', data], {
      env: { ...cleanEnvironment, ...environment },
    })
    writeFileSync(tokenFile, stdout.trim(), { mode: 0o600 })
  }
  const { child, port } = await startService({ main, data, workers: setting.workers, environment })
  return {
    address,
    port,
    headers: { authorization: `Apikey ${await readFile(tokenFile, 'utf8')}`, 'content-type': 'application/json' },
    blankDigits: false,
    pids: () => [...processTree(child.pid), engine.pid, ...(standby === undefined ? [] : processTree(standby.pid))],
    transientPids: () => processTree(engine.pid).slice(1).filter(isWorkload),
    exchange: (operation) => ({ ...topicdRequest(operation), expected: expectedBodies(operation) }),
    async stop() {
      await child.stop()
      await standby?.stop()
      await engine.stop()
    },
  }
}

/**
 * A copy of the build that sends each read separately and immediately, limited only by its connections, and commits one write at a time.
 */
function unbatchedBuild(): string {
  const copy = join(root, 'dist-bench/unbatched')
  const dist = join(copy, 'dist')
  rmSync(copy, { recursive: true, force: true })
  cpSync(join(root, 'dist'), dist, { recursive: true })
  cpSync(join(root, 'package.json'), join(copy, 'package.json'))
  writeFileSync(join(dist, 'store/postgres/connection/batcher.js'), unbatchedModule)
  const committer = join(dist, 'store/postgres/commit/committer.js')
  const batched = readFileSync(committer, 'utf8')
  const alone = batched.replace(/const operationsMax = \d+;/, 'const operationsMax = 1;')
  if (alone === batched) throw new Error('committer.js does not contain the number of operations per commit')
  writeFileSync(committer, alone)
  return dist
}

/** Replaces src/store/postgres/connection/batcher.ts: the same exports and methods, without batches. */
const unbatchedModule = `export class Batcher {
  #execute
  constructor(execute) {
    this.#execute = execute
  }
  add(request) {
    void this.#execute([[request]], (_, instead = request) => this.add(instead)).catch((reason) => request.reject(reason))
  }
  async drained() {}
}
`
