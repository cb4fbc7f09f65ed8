/**
 * topicd on a PostgreSQL of its own, both on this machine: the same requests and answers as topicd on lmdb. Its home holds the
 * engine's data beside topicd's own. A second contender is the same but for one thing: each request is a statement and a
 * commit of its own, as a service without rounds would make them.
 */
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { processTree } from '../measure/cpu.js'
import { root } from '../measure/machine.js'
import { rightAnswers } from '../work/operation.js'
import { type Child, plainEnvironment, startChild } from './child.js'
import type { Contender, Running, Setting } from './contender.js'
import { startService, topicdRequest } from './topicd.js'

const run = promisify(execFile)

/** The oldest major version that is looked for. */
const versionMin = 15

/** The directory of the newest installed server's programs; undefined where there is none. */
export const binaries = findBinaries()

/** Between two looks whether a backend is gone. */
const pollMs = 10

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

function contender(name: string, dist: () => string): PostgresContender {
  const version = binaries === undefined ? undefined : versionOf(binaries)
  return {
    name,
    version,
    missing: missing(),
    homeKey: `postgres-${version?.replace(/\W+/g, '-')}-1`,
    durability: 'fsync before the answer',
    start: (setting) => start(dist(), setting),
  }
}

function missing(): string | undefined {
  if (binaries === undefined) return 'PostgreSQL is not installed'
  return existsSync(join(root, 'dist/main.js')) ? undefined : 'dist/main.js is not there: run "npm run build" first'
}

async function start(dist: string, setting: Setting): Promise<PostgresRunning> {
  const main = join(dist, 'main.js')
  const tokenFile = join(setting.home, 'token')
  const { engine, address } = await startEngine(setting.home)
  const environment = { TOPICD_STORE: address }
  const data = join(setting.home, 'data')
  await run(process.execPath, [main, 'migrate'], { env: { ...plainEnvironment, ...environment } })
  if (!existsSync(tokenFile)) {
    const { stdout } = await run(process.execPath, [main, 'keys', 'add', 'bench', '--data', data], { env: { ...plainEnvironment, ...environment } })
    writeFileSync(tokenFile, stdout.trim(), { mode: 0o600 })
  }
  const { child, port } = await startService({ main, data, workers: setting.workers, environment })
  return {
    address,
    port,
    headers: { authorization: `Apikey ${await readFile(tokenFile, 'utf8')}`, 'content-type': 'application/json' },
    blankDigits: false,
    pids: () => [...processTree(child.pid), ...processTree(engine.pid).filter(isLasting)],
    exchange: (operation) => ({ ...topicdRequest(operation), answers: rightAnswers(operation) }),
    async stop() {
      await child.stop()
      await engine.stop()
    },
  }
}

/**
 * Starts the engine on the data in a home, made if there are none; it listens on a socket and nowhere else. The socket has a
 * directory of its own, since its path may have 107 bytes and a home's may have more.
 */
async function startEngine(home: string): Promise<{ readonly engine: Child; readonly address: string }> {
  if (binaries === undefined) throw new Error('PostgreSQL is not installed')
  const data = join(home, 'engine')
  const sockets = mkdtempSync(join(tmpdir(), 'topicd-bench-'))
  const address = `postgres:///postgres?host=${sockets}&user=topicd`
  const [command, ...args] = asUser()
  const isNew = !existsSync(data)
  if (isNew) execFileSync('mkdir', [data])
  if (process.getuid?.() === 0) {
    // The engine's user has to get through to its data and to make its socket.
    for (const directory of [home, dirname(home)]) await chmod(directory, 0o711)
    execFileSync('chown', ['-R', 'postgres', data])
    execFileSync('chown', ['postgres', sockets])
  }
  if (isNew) {
    const initdb = [join(binaries, 'initdb'), '-D', data, '-U', 'topicd', '-A', 'trust', '-E', 'UTF8', '--locale=C']
    execFileSync(command, [...args, ...initdb], { cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
  }
  rmSync(join(data, 'postmaster.pid'), { force: true })
  const settings = ['listen_addresses=', `unix_socket_directories=${sockets}`, 'max_connections=200', 'shared_buffers=256MB', 'max_wal_size=4GB']
  const engine = await startChild({
    command,
    args: [...args, join(binaries, 'postgres'), '-D', data, ...settings.flatMap((setting) => ['-c', setting])],
    ready: { poll: async () => (await query(address, 'select 1')) === '1' },
  })
  const stop = async (): Promise<void> => {
    await engine.stop()
    rmSync(sockets, { recursive: true })
  }
  return { engine: { pid: engine.pid, stop }, address }
}

/** One value that a statement gives, as text. Resolves once its backend is gone too, so that none ends while it is measured. */
export async function query(address: string, text: string): Promise<string> {
  const statements = ['-c', text, '-c', 'select pg_backend_pid()']
  const { stdout } = await run(join(binaries ?? '', 'psql'), ['-X', '-q', '-A', '-t', '-d', address, ...statements])
  const lines = stdout.trim().split('\n')
  const backend = lines.pop()
  while (existsSync(`/proc/${backend}`)) await sleep(pollMs)
  return lines.join('\n')
}

/** The engine refuses to run as root; its package made this user for it. */
function asUser(): string[] {
  return process.getuid?.() === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--'] : ['env']
}

/** Not the engine's helpers that come and go. */
function isLasting(pid: number): boolean {
  try {
    return !/autovacuum worker/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
  } catch {
    return false
  }
}

/** A copy of the built files in which a round is one request, and as many are under way as there are connections. */
function oneStatementBuild(): string {
  const copy = join(root, 'dist-bench/one-statement')
  const dist = join(copy, 'dist')
  rmSync(copy, { recursive: true, force: true })
  cpSync(join(root, 'dist'), dist, { recursive: true })
  cpSync(join(root, 'package.json'), join(copy, 'package.json'))
  const rounds = join(dist, 'store/postgres/rounds.js')
  renameSync(rounds, join(dist, 'store/postgres/shared-rounds.js'))
  writeFileSync(
    rounds,
    `export function createRounds({ carryOut }) {
  return {
    add: (ask) => void carryOut([[ask]]).catch((reason) => ask.reject(reason)),
    settled: () => Promise.resolve(),
  }
}
`,
  )
  return dist
}

function findBinaries(): string | undefined {
  const versions = '/usr/lib/postgresql'
  if (!existsSync(versions)) return undefined
  const majors = readdirSync(versions).map(Number).filter((major) => major >= versionMin)
  const newest = majors.sort((a, b) => b - a).find((major) => existsSync(join(versions, String(major), 'bin/initdb')))
  return newest === undefined ? undefined : join(versions, String(newest), 'bin')
}

function versionOf(directory: string): string {
  const [, version] = /(\d+(\.\d+)?)/.exec(execFileSync(join(directory, 'postgres'), ['--version']).toString()) ?? []
  return `PostgreSQL ${version}`
}
