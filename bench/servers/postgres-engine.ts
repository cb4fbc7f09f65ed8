/**
 * PostgreSQL for a server: finds the installed server, starts it on the data in a directory, and sends it queries; can add a synchronous
 * standby. Nothing here depends on topicd.
 */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Child, startChild } from './child.js'

const run = promisify(execFile)

/** The oldest supported major version. */
const versionMin = 15

/** Interval at which to check whether a backend has exited. */
const pollMs = 10

/** The directory of the newest installed server's programs; undefined if none is installed. */
export const binaries = findBinaries()

/** The server's name and version. */
export const engineVersion = binaries === undefined ? undefined : versionOf(binaries)

/** Why no server can be started; undefined if one can be. */
export const missingEngine = binaries === undefined ? 'PostgreSQL is not installed' : undefined

/**
 * Starts the engine on the data in a directory, which is initialised if it is empty; the engine listens only on a Unix socket. The socket
 * has its own directory, because its path is limited to 107 bytes and the path of the data may be longer.
 */
export async function startEngine(directory: string): Promise<{ readonly engine: Child; readonly address: string }> {
  if (binaries === undefined) throw new Error('PostgreSQL is not installed')
  const data = join(directory, 'engine')
  const sockets = mkdtempSync(join(tmpdir(), 'topicd-bench-'))
  const address = `postgres:///postgres?host=${sockets}&user=topicd`
  const [command, ...args] = asUser()
  const isNew = !existsSync(data)
  if (isNew) execFileSync('mkdir', [data])
  // The engine's user must be able to reach its data and to create its socket.
  if (process.getuid?.() === 0) for (const parent of [directory, dirname(directory)]) await chmod(parent, 0o711)
  giveToEngine(data, sockets)
  if (isNew) {
    const initdb = [join(binaries, 'initdb'), '-D', data, '-U', 'topicd', '-A', 'trust', '-E', 'UTF8', '--locale=C']
    execFileSync(command, [...args, ...initdb], { cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
  }
  rmSync(join(data, 'postmaster.pid'), { force: true })
  const engine = await startChild({
    command,
    args: [...args, join(binaries, 'postgres'), '-D', data, ...settingsAt(sockets)],
    ready: { poll: async () => (await query(address, 'select 1')) === '1' },
  })
  const stop = async (): Promise<void> => {
    await engine.stop()
    rmSync(sockets, { recursive: true })
  }
  return { engine: { pid: engine.pid, stop }, address }
}

/** Starts a synchronous standby as a copy of a running engine; from then on each commit waits for both. */
export async function startStandby(directory: string, address: string): Promise<Child> {
  if (binaries === undefined) throw new Error('PostgreSQL is not installed')
  const data = join(directory, 'standby')
  const sockets = mkdtempSync(join(tmpdir(), 'topicd-bench-'))
  const [command, ...args] = asUser()
  rmSync(data, { recursive: true, force: true })
  execFileSync('mkdir', ['-m', '700', data])
  giveToEngine(data, sockets)
  const primary = new URL(address)
  const conninfo = `host=${primary.searchParams.get('host')} user=topicd application_name=standby`
  const copy = [join(binaries, 'pg_basebackup'), '-D', data, '-d', conninfo, '-R', '-c', 'fast', '-X', 'stream']
  await run(command, [...args, ...copy], { cwd: '/' })
  const child = await startChild({
    command,
    args: [
      ...args,
      join(binaries, 'postgres'),
      '-D',
      data,
      ...settingsAt(sockets),
      '-c',
      `primary_conninfo=${conninfo}`,
    ],
    ready: { poll: async () => (await query(address, 'select count(*) from pg_stat_replication')) === '1' },
  })
  for (const text of ["alter system set synchronous_standby_names = 'standby'", 'select pg_reload_conf()'])
    await query(address, text)
  const stop = async (): Promise<void> => {
    for (const text of ['alter system reset synchronous_standby_names', 'select pg_reload_conf()'])
      await query(address, text)
    await child.stop()
    rmSync(sockets, { recursive: true })
  }
  return { pid: child.pid, stop }
}

function settingsAt(sockets: string): string[] {
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${sockets}`,
    'max_connections=200',
    'shared_buffers=256MB',
    'max_wal_size=4GB',
  ]
  return settings.flatMap((setting) => ['-c', setting])
}

function giveToEngine(data: string, sockets: string): void {
  if (process.getuid?.() !== 0) return
  execFileSync('chown', ['-R', 'postgres', data])
  execFileSync('chown', ['postgres', sockets])
}

/** The result of a statement, as text. Resolves after its backend has exited, so that no backend exits during a measurement. */
export async function query(address: string, text: string): Promise<string> {
  const statements = ['-c', text, '-c', 'select pg_backend_pid()']
  const { stdout } = await run(join(binaries ?? '', 'psql'), ['-X', '-q', '-A', '-t', '-d', address, ...statements])
  const lines = stdout.trim().split('\n')
  const backend = lines.pop()
  while (existsSync(`/proc/${backend}`)) await sleep(pollMs)
  return lines.join('\n')
}

/** The start of a command line that runs as the package's own user if this process runs as root: the engine does not run as root. */
function asUser(): readonly [string, ...string[]] {
  return process.getuid?.() === 0
    ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--']
    : ['env']
}

/** Whether a backend works for the benchmark, not for autovacuum. */
export function isWorkload(pid: number): boolean {
  try {
    return !/autovacuum worker/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
  } catch {
    return false
  }
}

function findBinaries(): string | undefined {
  const versions = '/usr/lib/postgresql'
  if (!existsSync(versions)) return undefined
  const majors = readdirSync(versions)
    .map(Number)
    .filter((major) => major >= versionMin)
  const newest = majors.sort((a, b) => b - a).find((major) => existsSync(join(versions, String(major), 'bin/initdb')))
  return newest === undefined ? undefined : join(versions, String(newest), 'bin')
}

function versionOf(directory: string): string {
  const [, version] = /(\d+(\.\d+)?)/.exec(execFileSync(join(directory, 'postgres'), ['--version']).toString()) ?? []
  return `PostgreSQL ${version}`
}
