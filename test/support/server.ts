/**
 * The built server as a process of its own: on a port of its own, in a data directory of its own, over as many workers as
 * the test asks for. Nothing of the product is imported here, only started, so that a test sees what a user sees; only the
 * data that a service leaves behind are walked in this process.
 *
 * In order: spawn, wait for the line that says "listening", hand the test a `Server`; at the test's end stop it, hold its
 * exit status to what was expected, and walk its data. What the server printed is shown on failure only.
 */

import { strict as assert } from 'node:assert'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { hashToken, makeToken } from '../../dist/auth/token.js'
import { ask } from '../../dist/commands/store-client.js'
import type { Operation } from '../../dist/store/store.js'
import { type Path, parsePath } from '../../dist/topics/path.js'
import { Client } from './client.js'
import { childrenOf } from './processes.js'
import { RawConnection } from './raw.js'
import { checkStore } from './store.js'
import { eachStore, type StoreAddress } from './stores.js'

/** The built program. */
export const mainFile = join(import.meta.dirname, '../../dist/main.js')

/** A test that hangs says so after this long: ample for a machine that is busy with everything else, and then it fails with the server's output. */
const deadlineMs = 90_000

/** Connections of the client that every server comes with: enough that the kernel spreads them over all the workers. */
const connectionsPerWorker = 6

/** What an API key may do. */
interface KeyRights {
  readonly allow?: readonly Operation[]
  readonly under?: readonly string[]
}

const everything: readonly Operation[] = ['fetch', 'set', 'add', 'remove']

export interface StartOptions {
  /** Worker processes; 1 unless told. */
  readonly workers?: number
  /** Whether their number is given as a flag; yes unless a settings file says it. */
  readonly workersFlag?: boolean
  /** Further flags of `serve`. */
  readonly flags?: readonly string[]
  /** The main.js of another build; the one of `dist` unless told. */
  readonly program?: string
  /** How many files the service may have open, each of its processes; the system's own limit unless told. */
  readonly descriptorsMax?: number
  /** Further environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Where the topics are: an address as `--store` takes it, of a store that is there; lmdb unless told. */
  readonly store?: StoreAddress
  /** The data directory of an earlier server; a fresh one unless told. */
  readonly dataDir?: string
  /** A token that the data directory knows already; else the server is asked to make a first key. */
  readonly token?: string
  /** The exit code that tear-down holds the server to: 0 unless told; undefined for a server that the test ends itself. */
  readonly exitCode?: number | undefined
  /** Whether tear-down walks the data; yes unless told. */
  readonly check?: boolean
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** What a command that ran to its end left behind. */
export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** One line of the server's log. */
export type LogLine = Readonly<Record<string, unknown>>

/** Starts the server for this test and stops it at the test's end. Resolves once it listens. */
export async function startServer(t: Test, options: StartOptions = {}): Promise<Server> {
  const dataDir = options.dataDir ?? join(t.testdir(), 'db')
  const server = new Server(t, dataDir, options)
  t.teardown(() => server.tearDown())
  await server.listening()
  return server
}

/** Runs the same claims against a server of one worker and one of several, over each store unless the options name one. */
export async function overWorkers(
  t: Test,
  claims: (t: Test, server: Server) => Promise<void>,
  options: Omit<StartOptions, 'workers'> = {},
): Promise<void> {
  const over = async (t: Test, store: StoreAddress): Promise<void> => {
    // Processes that share another engine are all alike to it, so that one worker has nothing to add there.
    for (const workers of store === 'lmdb' ? [1, 3] : [3]) {
      await t.test(`over ${workers} ${workers === 1 ? 'worker' : 'workers'}`, async (t) => {
        await claims(t, await startServer(t, { ...options, workers, store }))
      })
    }
  }
  await (options.store === undefined ? eachStore(t, over) : over(t, options.store))
}

/** Runs a command of the built program to its end, with `input` on its standard input. */
export async function runCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input: string | Buffer = '',
  withinMs = deadlineMs,
): Promise<CommandResult> {
  const child = spawn(process.execPath, [mainFile, ...args], { env: { ...cleanEnv(), ...env }, stdio: 'pipe' })
  // A command that ends before it has read everything says why itself.
  child.stdin.on('error', () => {}).end(input)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  await within(withinMs, once(child, 'close'), () => {
    child.kill('SIGKILL')
    return `"${args.join(' ')}" did not end; it printed\n${stdout}${stderr}`
  })
  return { code: child.exitCode, stdout, stderr }
}

/** Polls until `probe` answers something other than undefined: for what no event tells of. */
export async function until<T>(what: string, probe: () => Promise<T | undefined>, withinMs = deadlineMs): Promise<T> {
  for (const endMs = Date.now() + withinMs; ; ) {
    const found = await probe()
    if (found !== undefined) return found
    assert(Date.now() < endMs, `${what}: not within ${withinMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** A running server, and everything that a test does to it. */
export class Server {
  /** Where the routes are, base path included. */
  url = ''
  adminUrl = ''
  /** An API key that may do everything. */
  token: string
  readonly dataDir: string
  /** Every line of the log so far, oldest first. */
  readonly log: LogLine[] = []
  /** Resolves when the primary has ended. */
  readonly exited: Promise<Exit>

  readonly #t: Test
  readonly #child: ChildProcess
  readonly #options: StartOptions
  readonly #watchers = new Set<() => void>()
  #output = ''
  #client: Client | undefined
  readonly #connections = new Set<{ close(): void }>()

  constructor(t: Test, dataDir: string, options: StartOptions) {
    this.#t = t
    this.#options = options
    this.dataDir = dataDir
    this.token = options.token ?? ''
    const flags = ['--host', '127.0.0.1', '--port', '0', '--admin-port', '0', '--data', dataDir]
    if (options.workersFlag !== false) flags.push('--workers', String(this.workers))
    if (options.token === undefined) flags.push('--first-key')
    const command: [string, ...string[]] = [
      process.execPath,
      options.program ?? mainFile,
      'serve',
      ...flags,
      ...(options.flags ?? []),
    ]
    // The shell becomes the service, so the process id stays.
    if (options.descriptorsMax !== undefined)
      command.unshift('sh', '-c', `ulimit -n ${options.descriptorsMax}; exec "$@"`, 'sh')
    this.#child = spawn(command[0], command.slice(1), {
      env: { ...cleanEnv(), ...this.#storeEnv, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.exited = once(this.#child, 'close').then(([code, signal]) => {
      this.#notify()
      return { code: code as number | null, signal: signal as NodeJS.Signals | null }
    })
    assert(this.#child.stdout !== null && this.#child.stderr !== null)
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#read(line))
    createInterface({ input: this.#child.stderr }).on('line', (line) => {
      this.#output += `${line}\n`
    })
  }

  /** What tells the product, beside the data directory, where the topics are. */
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

  /** Everything that the server printed so far. */
  get output(): string {
    return this.#output
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  /** Resolves once the server listens and every connection of its client meets a worker that knows the token. */
  async listening(): Promise<void> {
    const line = await this.logged('listening')
    this.url = String(line.url).replace(/\/$/, '')
    this.adminUrl = String(line.adminUrl)
    await this.#when('a first key', () => this.token !== '')
    await this.knows(this.token)
  }

  /** Resolves once every connection of the client meets a worker that knows the token: a new one takes up to a second. */
  async knows(token: string): Promise<void> {
    await until('a new key is known', async () => {
      const requests = Array.from({ length: this.client.connections }, () => this.post('fetch', {}, { token }))
      const answers = await Promise.all(requests)
      return answers.every(({ status }) => status !== 401) ? true : undefined
    })
  }

  /** The first line of the log with this message, or the next one to come. */
  async logged(msg: string, matches: (line: LogLine) => boolean = () => true): Promise<LogLine> {
    const find = () => this.log.find((line) => line.msg === msg && matches(line))
    await this.#when(`the log line "${msg}"`, () => find() !== undefined)
    return find() as LogLine
  }

  /** The process ids of the workers that live now. */
  workerPids(): number[] {
    return childrenOf(this.pid)
  }

  /** Connections of their own, in the order in which they are used; one connection unless told. */
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

  /** A client whose requests take turns over enough connections to meet every worker. */
  get client(): Client {
    this.#client ??= this.connect(this.workers === 1 ? 1 : connectionsPerWorker * this.workers)
    return this.#client
  }

  /** Posts with the server's own client; see `Client.post`. */
  readonly post: Client['post'] = (route, body, options) => this.client.post(route, body, options)

  /** Makes an API key beside the running server and gives its token, which every worker then knows. */
  readonly addKey = async (name: string, { allow = everything, under = [] }: KeyRights = {}): Promise<string> => {
    const token = makeToken()
    const paths = under.map((path) => parsePath(path) as Path)
    const record = { name, tokenHash: hashToken(token), allow, under: paths, madeMs: Date.now() }
    const location = { store: this.#options.store ?? 'lmdb', data: this.dataDir, diskFreeBytesMin: 0 }
    assert.equal(await ask(location, { about: 'addKey', record }), true, `the key ${name}`)
    await this.knows(token)
    return token
  }

  /** Runs a command of the built program on this server's topics, to its end. */
  command(...args: readonly string[]): Promise<CommandResult> {
    return runCommand([...args, '--data', this.dataDir], this.#storeEnv)
  }

  /** Asks the server to end and waits until it has. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    if (this.running) this.#child.kill(signal)
    return within(deadlineMs, this.exited, () => `the server did not end after ${signal}; it printed\n${this.#output}`)
  }

  /** Sends a signal to the primary without waiting for anything. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Stops, then holds the exit status and the data to what was expected. Run by the test's own tear-down. */
  async tearDown(): Promise<void> {
    try {
      await this.#tearDown()
    } catch (error) {
      this.#t.comment(this.#output)
      this.#child.kill('SIGKILL')
      throw error
    }
    if (!this.#t.passing()) this.#t.comment(this.#output)
  }

  async #tearDown(): Promise<void> {
    for (const connection of this.#connections) connection.close()
    const exit = await this.stop()
    const expected = 'exitCode' in this.#options ? this.#options.exitCode : 0
    if (expected !== undefined) assert.deepEqual(exit, { code: expected, signal: null }, 'how the server ended')
    if (this.#options.check === false) return
    await checkStore(this.#options.store ?? 'lmdb', this.dataDir)
  }

  #read(line: string): void {
    this.#output += `${line}\n`
    const json = line.replace(/^<\d>/, '')
    if (json.startsWith('{')) this.log.push(JSON.parse(json) as LogLine)
    if (this.token === '') this.token = /Apikey ([\w.~+/=-]+)/.exec(line)?.[1] ?? ''
    this.#notify()
  }

  #notify(): void {
    for (const watcher of this.#watchers) watcher()
  }

  /** Waits, from one line of output to the next, until `holds`. */
  async #when(what: string, holds: () => boolean): Promise<void> {
    const told = new Promise<void>((resolve, reject) => {
      const watcher = () => {
        if (holds()) resolve()
        else if (!this.running) reject(new Error(`the server ended before ${what} came; it printed\n${this.#output}`))
        else return
        this.#watchers.delete(watcher)
      }
      this.#watchers.add(watcher)
      watcher()
    })
    await within(deadlineMs, told, () => `${what} did not come; the server printed\n${this.#output}`)
  }
}

/** This process's environment without settings that a developer's shell may carry. */
export function cleanEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TOPICD_')))
}

async function within<T>(ms: number, promise: Promise<T>, words: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(words())), ms)
  })
  return Promise.race([promise, deadline]).finally(() => clearTimeout(timer))
}
