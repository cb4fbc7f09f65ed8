/**
 * A service from its start to its stop: the writer, the workers, the admin listener, the control socket, and the signals.
 *
 * Start: admin listener → control socket → writer → workers → log the addresses. Reload: read the settings again,
 * replace the writer and the workers; if anything fails, the former settings stay in effect or are restored. Stop:
 * workers drain and tools exit → the writer drains → admin listener and control socket close → exit. Every step of a
 * stop runs, even if an earlier step failed.
 */
import { type ChildProcess, fork } from 'node:child_process'
import cluster from 'node:cluster'
import type { Server } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Overview } from '../../api/console/primary.js'
import { describeApi } from '../../api/openapi/openapi.js'
import { exitCodes } from '../../base/exit-codes.js'
import { version } from '../../base/version.js'
import { type Admin, startAdmin } from '../../ops/admin-server.js'
import { sampleMs } from '../../ops/figures/history.js'
import type { Logger } from '../../ops/log.js'
import { Metrics } from '../../ops/metrics/metrics.js'
import { onTerminal, print } from '../../ops/output.js'
import { notify, watchdogMs } from '../../ops/systemd.js'
import type { Certificate } from '../../ops/tls.js'
import { isExclusive } from '../../settings/address.js'
import { type Config, redactedConfig, reloadedConfig } from '../../settings/config.js'
import type { Reloaded } from '../control/messages.js'
import { checkedResponse } from '../control/protocol.js'
import { listenForControl } from '../control/socket.js'
import { bracketed, listenExitCode, listenProblem } from '../listening.js'
import { takeAllSteps } from '../steps.js'
import { ApiKeys } from './api-keys.js'
import { Child } from './child.js'
import { ControlRequests } from './control-requests.js'
import { addFirstKey, makeFirstKey, patient } from './first-key.js'
import { Readiness } from './readiness.js'
import { queueReloads } from './reload-queue.js'
import { StoreOpener } from './store-opening.js'
import { type Wanted, Workers } from './workers.js'
import { Writers } from './writers.js'

/** A second signal within this time counts as a repetition: GNU timeout sends two, and so does a terminal through npm. */
const repeatedSignalMs = 1000

/** The interval between checks of the service's state, for systemd's status text and the log. */
const statusMs = 1000

/** Checked settings, and the certificate that they name, if any. */
export interface ReadSettings {
  readonly config: Config
  readonly certificate: Certificate | undefined
}

interface SupervisorOptions extends Pick<ReadSettings, 'config'> {
  /** Hash of the first key's token; undefined if no token was given. */
  readonly firstTokenHash: string | undefined
  /** Reads the settings again; throws a UsageError if a setting is wrong. */
  readonly readSettings: () => ReadSettings
  /** The expiry of the certificate in use, as Unix time in ms; undefined without a certificate. */
  readonly certificateExpiresMs: () => number | undefined
  /** Called with the certificate that the workers use from now on; must not fail. */
  readonly useCertificate: (certificate: Certificate | undefined) => void
  /** The port, already reserved, on which workers serve the routes. */
  readonly port: number
  /** The lock on the data directory, for every process that may open the store. */
  readonly lockDescriptor: number
  readonly log: Logger
  /** Reports the reason why the service cannot start, and exits. */
  readonly refuse: (code: number, reason: string) => never
}

/**
 * V8 counts the buffers of bodies as old objects. Its default limit, based on the few megabytes of live objects, would
 * trigger a collection after every 70 values of 100 KB. With this limit, in MiB, such a write costs half as much.
 */
const heapArguments = ['--initial-old-space-size=64']

export class Supervisor {
  readonly #log: Logger
  /** Undefined if the engine needs no writer. */
  readonly #writers: Writers | undefined
  readonly #workers: Workers
  readonly #keys: ApiKeys
  readonly #requests: ControlRequests
  readonly #readiness: Readiness
  readonly #metrics: Metrics
  #config: Config
  /** The number of workers; during a reload that changes it, the smaller of the old and the new number. */
  #workersExpected: number
  #control: Server | undefined
  #admin: Admin | undefined
  #stoppingSinceMs: number | undefined
  #isReloading = false
  #lastStatus = ''
  #storeProblem: string | undefined
  #isDiskFull = false
  #onStarted = (): void => {}

  /**
   * Reads the settings again and replaces the workers. Reloads run one at a time, after the start. Rejects with the
   * reason if anything fails; the former settings then stay in effect or are restored. When this settles, systemd has
   * been notified of the end of the reload, unless the service is stopping.
   */
  readonly reload: () => Promise<Reloaded>

  constructor(private readonly options: SupervisorOptions) {
    const { config, log, lockDescriptor } = options
    this.#log = log
    this.#config = config
    this.#workersExpected = config.workers
    const stdio = ['ignore', 'inherit', 'inherit', 'ipc', lockDescriptor] as const
    const script = (name: string): string => fileURLToPath(new URL(`../${name}.js`, import.meta.url))
    const execArgv = [...process.execArgv, ...heapArguments]
    cluster.setupPrimary({ exec: script('worker/worker'), args: [], execArgv, stdio: [...stdio] })
    const forkProgram = (name: string): ChildProcess =>
      fork(script(name), [], { execArgv, stdio: [...stdio], serialization: 'json' })
    const forkTool = (): ChildProcess => forkProgram('tool/tool-process')
    const opener = new StoreOpener()
    const forkWriter = (): Child => this.#watched(new Child(forkProgram('writer/writer'), log))
    const hasWriter = isExclusive(config.store)
    this.#writers = hasWriter ? new Writers({ opener, log, fork: forkWriter }) : undefined
    const writer = (): Child | undefined => this.#writers?.current()
    this.#workers = new Workers({
      opener,
      log,
      fork: ({ start }) => this.#forkWorker(start.config),
      onOpened: (worker) => this.#keys.suspendIn(worker),
      onGivingUp: (reason) => void this.#stop(exitCodes.restartLimit, reason),
    })
    const serving = (): readonly Child[] => this.#workers.serving()
    const stopping = (): boolean => this.#stoppingSinceMs !== undefined
    const start = () => this.#wanted(this.#config).start
    const started = new Promise<void>((resolve) => (this.#onStarted = resolve))
    this.reload = queueReloads(started, () => this.#reloadOnce())
    // The worker that was heard from most recently is the least likely to hang.
    const worker = (): Child | undefined => [...serving()].sort((a, b) => b.heardMs - a.heardMs)[0]
    const keys = new ApiKeys({ responder: hasWriter ? writer : worker, loaded: () => this.#workers.loaded() })
    this.#keys = keys
    this.#requests = new ControlRequests({
      keys,
      opener,
      forkTool,
      start,
      overview: () => this.#overview(),
      reload: this.reload,
      stopping,
      log,
    })
    this.#readiness = new Readiness({
      stopping,
      expected: () => this.#workersExpected,
      serving,
      writers: this.#writers,
    })
    this.#metrics = new Metrics({
      workers: this.#workers,
      writers: this.#writers,
      ready: () => this.#readiness.notReadyReasons().length === 0,
      certificateExpiresMs: options.certificateExpiresMs,
      log,
    })
  }

  /** Resolves when all workers serve and the first key is dealt with; if the service cannot start, reports the reason and exits. */
  async start(): Promise<void> {
    process.on('SIGTERM', (signal) => this.#onSignal(signal))
    process.on('SIGINT', (signal) => this.#onSignal(signal))
    process.on('SIGHUP', () => void this.reload().catch(() => {}))
    const url = await this.#startAll()
    this.#onStarted()
    // Reloads do not wait for the first key, which may take as long as the store is unavailable.
    if (url !== undefined) await this.#makeFirstKey(url)
  }

  /** @returns the URL of the routes; undefined if a signal ended the start */
  async #startAll(): Promise<string | undefined> {
    const { refuse, port } = this.options
    const { host, adminHost, adminPort, data, workers, basePath, tlsCert, firstKey } = this.#config
    const log = this.#log
    this.#admin = await startAdmin({
      host: adminHost,
      port: adminPort,
      notReadyReasons: () => this.#readiness.notReadyReasons(),
      metrics: this.#metrics,
      topicsPage: () => this.#topicsPage(),
      description: () => JSON.stringify(describeApi({ ...this.#config, version })),
    }).catch((error: Error) =>
      refuse(listenExitCode(error), listenProblem(error, adminHost, adminPort, ' (the admin listener)')),
    )
    try {
      this.#control = await listenForControl(data, this.#requests)
      await this.#writers?.begin(this.#wanted(this.#config).start)
      await this.#workers.reach(this.#wanted(this.#config))
    } catch (error) {
      if (this.#stoppingSinceMs !== undefined) return undefined
      this.#workers.kill()
      this.#writers?.kill()
      refuse(exitCodes.failed, `not started: ${(error as Error).message}`)
    }
    const url = `${tlsCert === '' ? 'http' : 'https'}://${bracketed(host)}:${port}${basePath}`
    // After `npm start` on a terminal, the text printed with the first key replaces these lines.
    if (!(onTerminal && firstKey)) {
      log.info({ config: redactedConfig(this.#config), node: process.version }, 'settings')
      const adminUrl = `http://${bracketed(adminHost)}:${this.#admin.port}`
      log.info({ url, adminUrl, workers }, 'listening')
    }
    await this.#sendStatus('READY=1')
    setInterval(() => this.#watch(), statusMs).unref()
    setInterval(() => void this.#metrics.remember(), sampleMs).unref()
    void this.#metrics.remember()
    const period = watchdogMs()
    if (period !== undefined) setInterval(() => this.#readiness.alive() && void notify('WATCHDOG=1'), period / 3)
    return url
  }

  /** A failure does not stop the service: `topicd keys add` can create a key later. */
  async #makeFirstKey(url: string): Promise<void> {
    const { store, data, noConsole, firstKey, firstKeyFile } = this.#config
    const { firstTokenHash } = this.options
    const send = patient(
      async (request) => checkedResponse(request.command, await this.#keys.request(request)).response,
      () => this.#readiness.storeProblem() !== undefined,
    )
    const place = store === 'lmdb' ? data : redactedConfig(this.#config).store
    try {
      if (firstKey) await makeFirstKey(send, { url, place, data, hasConsole: !noConsole }, print)
      if (firstTokenHash === undefined) {
        if (!firstKey && (await send({ command: 'listKeys' }).catch(() => undefined))?.length === 0)
          this.#log.warn('there is no API key, so every request returns 401; create one with: topicd keys add NAME')
        return
      }
      const outcome = await addFirstKey(send, firstTokenHash)
      if (outcome === 'made') this.#log.info({ name: 'first', file: firstKeyFile }, 'first key created')
      if (outcome === 'unused')
        this.#log.warn(
          { file: firstKeyFile },
          'API keys already exist, so no key was created with the token in this file; to add one, run: topicd keys add NAME --token-file FILE',
        )
    } catch (error) {
      this.#log.error({ err: error }, 'the first key could not be created; create one with: topicd keys add NAME')
    }
  }

  async #reloadOnce(): Promise<Reloaded> {
    if (this.#stoppingSinceMs !== undefined) throw new Error('the service is stopping')
    const startedMs = performance.now()
    this.#isReloading = true
    void notify('RELOADING=1', 'STATUS=Replacing the workers')
    const before = this.#config
    try {
      const { config: read, certificate } = this.options.readSettings()
      const { config: next, restartNeeded } = reloadedConfig(before, read)
      this.#workersExpected = Math.min(before.workers, next.workers)
      this.#log.info({ config: redactedConfig(next) }, 'rolling restart')
      await this.#replaceAll(before, next)
      this.#config = next
      this.options.useCertificate(certificate)
      this.#metrics.reloaded(true)
      const tookMs = Math.round(performance.now() - startedMs)
      const versions = [...new Set(this.#workers.serving().flatMap((child) => child.version ?? []))]
      this.#log.info({ versions, tookMs, restartNeeded }, 'rolling restart done')
      return { workers: next.workers, versions, primaryVersion: version, tookMs, restartNeeded }
    } catch (error) {
      this.#metrics.reloaded(false)
      if (this.#stoppingSinceMs === undefined)
        this.#log.error({ reason: (error as Error).message }, 'rolling restart failed')
      throw error
    } finally {
      this.#workersExpected = this.#config.workers
      this.#isReloading = false
      await this.#sendStatus('READY=1')
    }
  }

  /** Replaces the writer first: if the new writer fails, the workers stay as they are. */
  async #replaceAll(before: Config, next: Config): Promise<void> {
    await this.#writers?.replace(this.#wanted(next).start)
    try {
      await this.#workers.reach(this.#wanted(next))
    } catch (error) {
      if (this.#stoppingSinceMs === undefined) await this.#writers?.replace(this.#wanted(before).start)
      throw error
    }
  }

  /** The console's overview: figures from the service page, whose samples it shares. */
  async #overview(): Promise<Overview> {
    const { facts, moments } = await this.#metrics.figures(0)
    const { streams = 0, connections = 0 } = moments.at(-1) ?? {}
    const problems = this.#readiness.notReadyReasons()
    const started = new Date(performance.timeOrigin).toISOString()
    const ready = problems.length === 0
    return { version, started, ready, problems, topics: facts?.topics ?? null, streams, connections }
  }

  /** The address of the console's topics page; undefined if it is turned off. */
  #topicsPage() {
    const { host, basePath, tlsCert, noConsole } = this.#config
    const scheme = tlsCert === '' ? ('http' as const) : ('https' as const)
    return noConsole ? undefined : { scheme, host, port: this.options.port, path: `${basePath}/console` }
  }

  #wanted(wanted: Config): Wanted {
    // If the admin port is 0, workers get the actual port.
    const config = { ...wanted, adminPort: this.#admin?.port ?? wanted.adminPort }
    const start = { kind: 'start', config, port: this.options.port, announcesKeys: true } as const
    return { count: config.workers, start: this.#writers === undefined ? start : { ...start, hasWriter: true } }
  }

  #forkWorker({ headerBytesMax }: Config): Child {
    // The HTTP library reads the variable when it is loaded.
    const worker = cluster.fork({ UWS_HTTP_MAX_HEADERS_SIZE: headerBytesMax })
    // node:cluster re-emits the process's errors on the Worker object. Child handles them; without this listener they
    // would crash the primary.
    worker.on('error', () => {})
    return this.#watched(new Child(worker.process, this.#log))
  }

  #watched(child: Child): Child {
    this.#metrics.watch(child)
    return child
  }

  /** Logs each change in the state of the store or the disk once, and updates systemd's status. */
  #watch(): void {
    const problem = this.#readiness.storeProblem()
    if (problem !== undefined && this.#storeProblem === undefined)
      this.#log.error({ reason: problem }, 'the store is unavailable')
    if (problem === undefined && this.#storeProblem !== undefined) this.#log.info('the store is back')
    this.#storeProblem = problem
    const { isDiskFull = this.#isDiskFull } = this.#readiness
    if (isDiskFull && !this.#isDiskFull)
      this.#log.warn('the disk is nearly full: writes that might fill it are rejected')
    if (!isDiskFull && this.#isDiskFull) this.#log.info('the disk has room again')
    this.#isDiskFull = isDiskFull
    void this.#sendStatus()
  }

  /** Sends systemd the status if it has changed or there are states to send; resolves when the attempt is over. */
  async #sendStatus(...states: readonly string[]): Promise<void> {
    const status = this.#readiness.status()
    if (this.#isReloading || this.#stoppingSinceMs !== undefined) return
    if (status === this.#lastStatus && states.length === 0) return
    this.#lastStatus = status
    await notify(...states, `STATUS=${status}`)
  }

  #onSignal(signal: NodeJS.Signals): void {
    if (this.#stoppingSinceMs === undefined) return void this.#stop(exitCodes.done, signal)
    if (performance.now() - this.#stoppingSinceMs < repeatedSignalMs) return
    this.#workers.kill()
    this.#writers?.kill()
    this.#requests.killTools()
    this.#log.warn({ signal }, 'stopped immediately')
    process.exit(exitCodes.forced)
  }

  async #stop(code: number, reason: string): Promise<void> {
    if (this.#stoppingSinceMs !== undefined) return
    this.#stoppingSinceMs = performance.now()
    this.#log.info({ reason }, 'stopping')
    void notify('STOPPING=1', 'STATUS=Draining')
    process.exitCode = code
    const steps = [
      () => Promise.all([this.#workers.drain(), this.#requests.endTools()]),
      () => this.#writers?.drain(),
      () => this.#admin?.close(),
      () => this.#control?.close(),
    ]
    await takeAllSteps(steps, (error) => this.#log.error({ err: error }, 'a step of the shutdown failed'))
    this.#log.info({ code }, 'stopped')
    process.exit()
  }
}
