/**
 * A PostgreSQL server from the system's binaries in a temporary directory, as durable as in production. Nothing here depends on the test
 * framework.
 */
import { strict as assert } from 'node:assert'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { chown, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { tied } from '../tied.js'

/**
 * The variable with the address of a server that all files of a run share. Without the prefix TOPICD_, because topicd rejects unknown
 * TOPICD_ variables.
 */
export const sharedEngine = 'SHARED_POSTGRES'

/** The oldest major version to use. */
const versionMin = 15

/** Time limit for a server to accept connections, in ms: after a crash it replays its log first. */
const startMsMax = 30_000

/** A test's own server, which it may stop and start. */
export interface Cluster {
  /** Resolves when it accepts connections. */
  start(): Promise<void>
  /** Stops the server: SIGINT like an orderly restart, SIGQUIT or SIGKILL like a crash. Resolves when its processes have exited. */
  stop(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>
}

/** The directory of the newest installed server's programs. */
export function findBinaries(): string | undefined {
  const versions = '/usr/lib/postgresql'
  if (!existsSync(versions)) return undefined
  const majors = readdirSync(versions)
    .map(Number)
    .filter((major) => major >= versionMin)
  const newest = majors.sort((a, b) => b - a).find((major) => existsSync(join(versions, String(major), 'bin/initdb')))
  return newest === undefined ? undefined : join(versions, String(newest), 'bin')
}

/** Executes one statement on its own connection; returns the rows. */
export async function execute(address: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: address })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

/** A test's own server in a directory, reached over TCP if it has a port, otherwise through a socket there. */
export class OwnCluster implements Cluster {
  readonly #binaries: string
  readonly #directory: string
  readonly #data: string
  /** initdb and the server do not run as root; Debian's package creates the user postgres for them. */
  readonly #account: string | undefined
  #process: ChildProcess | undefined
  readonly #port: number | undefined
  readonly #settings: readonly string[]
  #superuser = 'topicd'
  #output = ''

  /** @param settings as `name=value` */
  constructor(binaries: string, directory: string, port?: number, settings: readonly string[] = []) {
    this.#port = port
    this.#settings = settings
    this.#binaries = binaries
    this.#directory = directory
    this.#data = join(directory, 'data')
    this.#account = process.getuid?.() === 0 ? 'postgres' : undefined
  }

  address(database: string): string {
    if (this.#port !== undefined) return `postgres://${this.#superuser}@127.0.0.1:${this.#port}/${database}`
    return `postgres:///${database}?host=${this.#directory}&user=${this.#superuser}`
  }

  /** Makes this server a standby of another, from which it streams changes under this application name. */
  async follow(primary: OwnCluster, name: string): Promise<void> {
    if (this.#account !== undefined) await chown(this.#directory, Number(execFileSync('id', ['-u', 'postgres'])), -1)
    this.#run(
      'pg_basebackup',
      '-D',
      this.#data,
      '-R',
      '-X',
      'stream',
      '-c',
      'fast',
      '-d',
      `${primary.address('postgres')}?application_name=${name}`,
    )
  }

  /** Makes a standby the primary. */
  promote(): void {
    this.#run('pg_ctl', '-D', this.#data, '-w', 'promote')
  }

  /** The postmaster, the parent of the server's other processes. */
  get pid(): number {
    return Number(readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n')[0])
  }

  #run(program: string, ...args: readonly string[]): void {
    execFileSync(...tied(join(this.#binaries, program), args, { account: this.#account }), {
      cwd: this.#directory,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  }

  /** @param superuser the role that initdb creates, which anyone may use without a password */
  async make(superuser = 'topicd'): Promise<void> {
    this.#superuser = superuser
    if (this.#account !== undefined) await chown(this.#directory, Number(execFileSync('id', ['-u', 'postgres'])), -1)
    this.#run('initdb', '-D', this.#data, '-U', superuser, '-A', 'trust', '-E', 'UTF8', '--locale=C')
  }

  async start(): Promise<void> {
    const listen =
      this.#port === undefined ? ['listen_addresses='] : ['listen_addresses=127.0.0.1', `port=${this.#port}`]
    const settings = [
      ...listen,
      `unix_socket_directories=${this.#directory}`,
      'max_connections=200',
      'fsync=on',
      ...this.#settings,
    ]
    const args = ['-D', this.#data, ...settings.flatMap((setting) => ['-c', setting])]
    // On SIGQUIT the server exits immediately, with its other processes, and releases its shared memory.
    const tie = { signal: 'QUIT', account: this.#account } as const
    const child = spawn(...tied(join(this.#binaries, 'postgres'), args, tie), {
      cwd: this.#directory,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#process = child
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#output += text))
    for (const endMs = Date.now() + startMsMax; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
      try {
        await execute(this.address('postgres'), 'select 1')
        return
      } catch (error) {
        assert(
          Date.now() < endMs,
          `PostgreSQL does not start: ${(error as Error).message}; its output:\n${this.#output}`,
        )
      }
    }
  }

  /** Replaces pg_hba.conf by these lines and makes the server reload it; this affects only new connections. */
  async admit(lines: readonly string[]): Promise<void> {
    writeFileSync(join(this.#data, 'pg_hba.conf'), `${lines.join('\n')}\n`)
    await execute(this.address('postgres'), 'select pg_reload_conf()')
  }

  async stop(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void> {
    const child = this.#process
    if (child === undefined) return
    this.#process = undefined
    const file = join(this.#data, 'postmaster.pid')
    const pid = existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : undefined
    const closed = once(child, 'close')
    if (pid !== undefined) process.kill(pid, signal)
    while (pid !== undefined && isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5))
    await closed
  }

  async remove(): Promise<void> {
    await this.stop('SIGQUIT')
    await rm(this.#directory, { recursive: true, force: true })
  }
}

/** Whether the process is running; a zombie, which this process has not waited for yet, is not. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
