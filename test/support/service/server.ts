/**
 * The built server as a separate process with its own port and data directory and any number of workers, so that a test sees what a user
 * sees. In the test's own process, product code only adds API keys and checks the data that a service leaves behind.
 *
 * The order: spawn; wait for the log line "listening"; give the test a `Server`; when the test ends stop it, compare its exit status with
 * the expected one, and check its data. The server's output is shown only on failure.
 */
import { strict as assert } from 'node:assert'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import type { Test } from 'tap'
import { hashToken, makeToken } from '../../../dist/auth/token.js'
import { within } from '../../../dist/base/within.js'
import { requestLine } from '../../../dist/cluster/control/protocol.js'
import { connectToControl, readLine } from '../../../dist/cluster/control/socket.js'
import { keyResponse } from '../../../dist/cluster/key-requests.js'
import { requestsTo } from '../../../dist/commands/store/store-client.js'
import { operations, type Right } from '../../../dist/keys/record.js'
import type { KeyCommand, KeyRequestOf, KeyResponses } from '../../../dist/keys/requests.js'
import { withDefaults } from '../../../dist/settings/config.js'
import { openStore } from '../../../dist/store/open.js'
import type { TopicStore } from '../../../dist/store/store.js'
import { type Path, parsePath } from '../../../dist/topics/path.js'
import { childrenOf, commandLine, maps } from '../machines/processes.js'
import { checkStore } from '../stores/store.js'
import type { StoreAddress } from '../stores/stores.js'
import { tied } from '../tied.js'
import { Client } from './client.js'
import { scrape } from './metrics.js'
import { RawConnection } from './raw.js'

/** The built program. */
export const mainFile = join(import.meta.dirname, '../../../dist/main.js')

const writerFile = '/cluster/writer/writer.js'

/** Time limit of a test's wait, in ms, after which it fails with the server's output: ample even for a busy machine. */
const deadlineMs = 90_000

/** Connections of each `Server`'s own client per worker: enough that the kernel spreads them over all workers. */
const connectionsPerWorker = 6

/** Commands that warn about --data if the store is in PostgreSQL. */
const wholeStoreCommands: readonly string[] = ['export', 'import', 'check', 'backup']

/** The permissions and limits of an API key. */
interface KeyRights {
  readonly allow?: readonly Right[]
  readonly under?: readonly string[]
  /** In ms since the epoch. */
  readonly expiresMs?: number
  /** Requests per second. */
  readonly rate?: number
}

export interface StartOptions {
  /** Worker processes; 1 by default. */
  readonly workers?: number
  /** Whether the number of workers is passed as a flag; true by default. False if a settings file sets it. */
  readonly workersFlag?: boolean
  /** The admin listener's port, such as an earlier server's; any free port by default. */
  readonly adminPort?: number
  /** Additional flags of `serve`. */
  readonly flags?: readonly string[]
  /** The main.js of another build; the one in `dist` by default. */
  readonly program?: string
  /** The Node.js that runs the service; the test's own by default. */
  readonly node?: string
  /** Maximum open files of each process of the service; the system's limit by default. */
  readonly descriptorsMax?: number
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>
  /** The address of an existing store, as for `--store`; lmdb by default. */
  readonly store?: StoreAddress
  /** The data directory of an earlier server; a fresh one by default. */
  readonly dataDir?: string
  /** The token of an existing key; by default, the server creates a first key. */
  readonly token?: string
  /** The exit code that the teardown expects: 0 by default; undefined for a server that the test stops itself. */
  readonly exitCode?: number | undefined
  /** Whether the teardown checks the data; true by default. */
  readonly check?: boolean
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** The exit code and output of a command that has exited. */
export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** One line of the server's log. */
export type LogLine = Readonly<Record<string, unknown>>

/** Starts the server for this test and stops it when the test ends. Resolves when it listens. */
export async function startServer(t: Test, options: StartOptions = {}): Promise<Server> {
  const dataDir = options.dataDir ?? join(t.testdir(), 'db')
  const server = new Server(t, dataDir, options)
  t.teardown(() => server.tearDown())
  await server.listening()
  return server
}

/** Runs a command of the built program until it exits, with `input`, a string or an open file, on its standard input. */
export async function runCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input: string | Buffer | number = '',
  withinMs = deadlineMs,
): Promise<CommandResult> {
  const child = spawn(...tied(process.execPath, [mainFile, ...args]), {
    env: { ...cleanEnv(), ...env },
    stdio: [typeof input === 'number' ? input : 'pipe', 'pipe', 'pipe'],
  })
  // A command may exit before it has read its input; its own output then contains the reason.
  child.stdin?.on('error', () => {}).end(input)
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  await within(withinMs, once(child, 'close'), () => {
    child.kill('SIGKILL')
    assert.fail(`"${args.join(' ')}" did not exit; its output:\n${stdout}${stderr}`)
  })
  return { code: child.exitCode, stdout, stderr }
}

/** Polls until `probe` returns a value other than undefined: for conditions that no event reports. */
export async function until<T>(what: string, probe: () => Promise<T | undefined>, withinMs = deadlineMs): Promise<T> {
  for (const endMs = Date.now() + withinMs; ; ) {
    const found = await probe()
    if (found !== undefined) return found
    assert(Date.now() < endMs, `${what}: not within ${withinMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** A running server, with all operations that tests perform on it. */
export class Server {
  /** The URL of the routes, including the base path. */
  url = ''
  adminUrl = ''
  /** An API key with all permissions. */
  token: string
  readonly dataDir: string
  /** All output so far. */
  output = ''
  /** Every line of the log so far, oldest first. */
  readonly log: LogLine[] = []
  /** Resolves when the primary has exited. */
  readonly exited: Promise<Exit>

  readonly #t: Test
  readonly #child: ChildProcess
  readonly #options: StartOptions
  readonly #lines: Interface
  readonly #end = new AbortController()
  #client: Client | undefined
  #database: Promise<TopicStore> | undefined
  readonly #connections = new Set<{ close(): void }>()

  constructor(t: Test, dataDir: string, options: StartOptions) {
    this.#t = t
    this.#options = options
    this.dataDir = dataDir
    this.token = options.token ?? ''
    const { node = process.execPath, program = mainFile, descriptorsMax, adminPort = 0 } = options
    const listeners = `--host 127.0.0.1 --port 0 --admin-port ${adminPort}`.split(' ')
    const command = [program, 'serve', ...listeners, '--data', dataDir]
    if (options.workersFlag !== false) command.push('--workers', String(this.workers))
    if (options.token === undefined) command.push('--first-key')
    command.push(...(options.flags ?? []))
    // `exec` replaces the shell with the service, so the process id stays the same.
    const limit = descriptorsMax === undefined ? [] : ['sh', '-c', `ulimit -n ${descriptorsMax}; exec "$@"`, 'sh']
    const [first = node, ...args] = [...limit, node, ...command]
    this.#child = spawn(...tied(first, args), {
      env: { ...cleanEnv(), ...this.#storeEnv, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const { stdout, stderr } = this.#child
    assert(stdout !== null && stderr !== null)
    this.#lines = createInterface({ input: stdout }).on('line', (line) => this.#read(line))
    this.exited = once(this.#child, 'close').then(([code, signal]) => {
      this.#end.abort()
      return { code, signal }
    })
    createInterface({ input: stderr }).on('line', (line) => (this.output += `${line}\n`))
  }

  /** Selects the store for the service and its commands. */
  get #storeEnv(): Readonly<Record<string, string>> {
    return { TOPICD_STORE: this.#options.store ?? 'lmdb' }
  }

  get workers(): number {
    return this.#options.workers ?? 1
  }

  /** The primary's process id. */
  get pid(): number {
    assert(this.#child.pid !== undefined)
    return this.#child.pid
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  /** Resolves when the server listens and every worker to which its client is connected knows the token. */
  async listening(): Promise<void> {
    const line = await this.logged('listening')
    this.url = String(line.url).replace(/\/$/, '')
    this.adminUrl = String(line.adminUrl)
    await this.#shown('a first key', () => this.token || undefined)
    await this.knows(this.token)
  }

  /** Resolves when every worker to which the client is connected knows the token: a new key takes up to a second. */
  async knows(token: string): Promise<void> {
    await until('a new key is known', async () => {
      const requests = Array.from({ length: this.client.connections }, () => this.post('fetch', {}, { token }))
      const answers = await Promise.all(requests)
      // A token that has expired in the meantime is also known.
      return answers.every(({ status, message }) => status !== 401 || /has expired/.test(message)) ? true : undefined
    })
  }

  /** The first line of the log with this message; waits for it. */
  logged(msg: string, matches: (line: LogLine) => boolean = () => true): Promise<LogLine> {
    return this.#shown(`the log line "${msg}"`, () => this.log.find((line) => line.msg === msg && matches(line)))
  }

  /** Number of log lines with this message. */
  timesLogged(msg: string): number {
    return this.log.filter((line) => line.msg === msg).length
  }

  /** The process ids of the living workers. */
  workerPids(): number[] {
    return this.#childrenThatRun('/cluster/worker/worker.js')
  }

  /** The process id of the writer; undefined while there is no writer. Unlike the writer, the spare has not opened the store. */
  writerPid(): number | undefined {
    return this.#childrenThatRun(writerFile).find((pid) => maps(pid, 'data.mdb'))
  }

  /** The process id of the spare; undefined while there is no spare. */
  sparePid(): number | undefined {
    return this.#childrenThatRun(writerFile).find((pid) => !maps(pid, 'data.mdb'))
  }

  /** Resolves when a spare has loaded, so that it would take over immediately if the writer died. */
  async spareLoaded(): Promise<void> {
    const isLoaded = async () => (await scrape(this.adminUrl)).value('topicd_writer_spare_up') === 1 || undefined
    await until('a spare is loaded', isLoaded)
  }

  #childrenThatRun(file: string): number[] {
    return childrenOf(this.pid).filter((pid) => commandLine(pid).includes(file))
  }

  /** A client with its own connections, by default a single one, which its requests use in turn. */
  connect(connections = 1, token = this.token): Client {
    const client = new Client(this.url, token, connections)
    this.#connections.add(client)
    return client
  }

  /** A bare socket to the routes' port. */
  async raw(): Promise<RawConnection> {
    const connection = await RawConnection.open(new URL(this.url).hostname, this.port)
    this.#connections.add(connection)
    return connection
  }

  /** The server's own client, with enough connections to reach every worker. */
  get client(): Client {
    this.#client ??= this.connect(this.workers === 1 ? 1 : connectionsPerWorker * this.workers)
    return this.#client
  }

  /** Posts with the server's own client; see `Client.post`. */
  readonly post: Client['post'] = (route, body, options) => this.client.post(route, body, options)

  /** Adds an API key to the running server; returns its token when every worker knows it. */
  readonly addKey = async (
    name: string,
    { allow = operations, under = [], ...limits }: KeyRights = {},
  ): Promise<string> => {
    const token = makeToken()
    const paths = under.map((path) => parsePath(path) as Path)
    const record = { name, tokenHash: hashToken(token), allow, under: paths, madeMs: Date.now(), ...limits }
    assert.equal(await this.request({ command: 'addKey', record }), true, `the key ${name}`)
    return token
  }

  /** Sends a request about API keys, without a tool's process: to LMDB like the command line, to a database directly. */
  async request<Command extends KeyCommand>(request: KeyRequestOf<Command>): Promise<KeyResponses[Command]> {
    const { store = 'lmdb' } = this.#options
    if (store === 'lmdb') return requestsTo(withDefaults({ store, data: this.dataDir, diskFreeBytesMin: 0 }))(request)
    this.#database ??= openStore(store, { directory: this.dataDir })
    const response = await keyResponse(await this.#database, request)
    const control = await connectToControl(this.dataDir)
    control?.write(`${requestLine({ command: 'keysChanged' })}\n`)
    if (control !== undefined) await readLine(control)
    control?.destroy()
    return response
  }

  /** Runs a command of the built program on this server's data until it exits. */
  command(...args: readonly string[]): Promise<CommandResult> {
    const ignoresData = this.#storeEnv.TOPICD_STORE !== 'lmdb' && wholeStoreCommands.includes(args[0] ?? '')
    return runCommand([...args, ...(ignoresData ? [] : ['--data', this.dataDir])], this.#storeEnv)
  }

  /** Sends the signal and waits until the server has exited. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    if (this.running) this.#child.kill(signal)
    return within(deadlineMs, this.exited, () =>
      assert.fail(`the server did not exit after ${signal}; its output:\n${this.output}`),
    )
  }

  /** Sends a signal to the primary, without waiting. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Stops the server, then checks its exit status and data. Called by the test's teardown. */
  async tearDown(): Promise<void> {
    const { exitCode: code, store = 'lmdb', check = true } = { exitCode: 0, ...this.#options }
    try {
      await (await this.#database)?.close()
      for (const connection of this.#connections) connection.close()
      const exit = await this.stop()
      if (code !== undefined) assert.deepEqual(exit, { code, signal: null }, 'the exit status of the server')
      if (check) await checkStore(store, this.dataDir)
      if (!this.#t.passing()) this.#t.comment(this.output)
    } catch (error) {
      this.#t.comment(this.output)
      this.#child.kill('SIGKILL')
      throw error
    }
  }

  #read(line: string): void {
    this.output += `${line}\n`
    const json = line.replace(/^<\d>/, '')
    if (json.startsWith('{')) this.log.push(JSON.parse(json) as LogLine)
    if (this.token === '') this.token = /Apikey ([\w.~+/=-]+)/.exec(line)?.[1] ?? ''
  }

  /** Resolves with the result of `find` as soon as the output contains it. */
  async #shown<Found>(what: string, find: () => Found | undefined): Promise<Found> {
    const signal = AbortSignal.any([this.#end.signal, AbortSignal.timeout(deadlineMs)])
    for (let found = find(); ; found = find()) {
      if (found !== undefined) return found
      assert(!signal.aborted, `${what} did not appear; the server's output:\n${this.output}`)
      await once(this.#lines, 'line', { signal }).catch(() => {})
    }
  }
}

/** This process's environment without topicd settings from a developer's shell. */
export function cleanEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TOPICD_')))
}
