/**
 * topicd on a PostgreSQL of its own, both on this machine: the same requests and answers as topicd on lmdb. Its home holds the
 * engine's data beside topicd's own. A second contender is the same but for one thing: each request is a statement and a
 * commit of its own, as a service without batches would make them.
 */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { processTree } from '../measure/cpu.js'
import { root } from '../measure/machine.js'
import { rightAnswers } from '../work/operation.js'
import { plainEnvironment } from './child.js'
import type { Contender, Running, Setting } from './contender.js'
import { engineVersion, isWorkload, missingEngine, startEngine, startStandby } from './postgres-engine.js'
import { startService, topicdRequest } from './topicd.js'

const run = promisify(execFile)

/** A running contender with its engine's address. */
export interface PostgresRunning extends Running {
  readonly address: string
}

export interface PostgresContender extends Contender {
  start(setting: Setting): Promise<PostgresRunning>
}

/** topicd as it is built, on PostgreSQL. */
export function postgres(): PostgresContender {
  return contender('postgres', () => join(root, 'dist'))
}

/** The same with one statement a request. */
export function postgresEach(): PostgresContender {
  return contender('postgres-each', oneStatementBuild)
}

/** The same with a synchronous standby, and with fetches that wait for proof that the engine is the primary still. */
export function postgresWithStandby(fenced: boolean): PostgresContender {
  return contender(fenced ? 'postgres-fenced' : 'postgres-standby', () => join(root, 'dist'), true, {
    TOPICD_FENCED_READS: String(fenced),
  })
}

function contender(
  name: string,
  dist: () => string,
  hasStandby = false,
  environment: Readonly<Record<string, string>> = {},
): PostgresContender {
  return {
    name,
    version: engineVersion,
    missing: missing(),
    homeKey: `postgres-${engineVersion?.replace(/\W+/g, '-')}-1`,
    durability: 'fsync before the answer',
    start: (setting) => start(dist(), setting, hasStandby, environment),
  }
}

function missing(): string | undefined {
  return (
    missingEngine ??
    (existsSync(join(root, 'dist/main.js')) ? undefined : 'dist/main.js is not there: run "npm run build" first')
  )
}

async function start(
  dist: string,
  setting: Setting,
  hasStandby: boolean,
  added: Readonly<Record<string, string>>,
): Promise<PostgresRunning> {
  const main = join(dist, 'main.js')
  const tokenFile = join(setting.home, 'token')
  const { engine, address } = await startEngine(setting.home)
  const standby = hasStandby ? await startStandby(setting.home, address) : undefined
  const environment = { TOPICD_STORE: address, ...added }
  const data = join(setting.home, 'data')
  await run(process.execPath, [main, 'migrate'], { env: { ...plainEnvironment, ...environment } })
  if (!existsSync(tokenFile)) {
    const { stdout } = await run(process.execPath, [main, 'keys', 'add', 'bench', '--data', data], {
      env: { ...plainEnvironment, ...environment },
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
    passingPids: () => processTree(engine.pid).slice(1).filter(isWorkload),
    exchange: (operation) => ({ ...topicdRequest(operation), answers: rightAnswers(operation) }),
    async stop() {
      await child.stop()
      await standby?.stop()
      await engine.stop()
    },
  }
}

/** A copy of the built files in which a batch is one request, and any number of batches are in flight. */
function oneStatementBuild(): string {
  const copy = join(root, 'dist-bench/one-statement')
  const dist = join(copy, 'dist')
  rmSync(copy, { recursive: true, force: true })
  cpSync(join(root, 'dist'), dist, { recursive: true })
  cpSync(join(root, 'package.json'), join(copy, 'package.json'))
  writeFileSync(
    join(dist, 'store/postgres/batcher.js'),
    `export class Batcher {
  constructor({ execute }) {
    this.execute = execute
  }
  add(request) {
    void this.execute([[request]]).catch((reason) => request.reject(reason))
  }
  addAhead(requests) {
    for (const request of requests) this.add(request)
  }
  drained() {
    return Promise.resolve()
  }
}
`,
  )
  return dist
}
