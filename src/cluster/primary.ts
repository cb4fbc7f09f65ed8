/**
 * The primary: owns the data directory and the port, and starts, watches and ends everything else. It never opens the
 * store itself, and imports nothing that could.
 *
 * Start: lock the directory → prove the port free → admin listener → listen for the command line → workers load, open one by
 * one, serve → say where. Stop: workers drain and close the store → admin listener and control socket close → end.
 */
import { type ChildProcess, fork } from 'node:child_process'
import cluster from 'node:cluster'
import { createServer, type Server } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describeApi } from '../api/description.js'
import { type CommandLine, type Config, readConfig, UsageError } from '../config.js'
import { exitCodes } from '../exit-codes.js'
import { startAdmin } from '../ops/admin.js'
import { createLog, type Logger } from '../ops/log.js'
import { createMetrics } from '../ops/metrics.js'
import { notify, watchdogMs } from '../ops/systemd.js'
import { readCertificate } from '../ops/tls.js'
import { version } from '../version.js'
import { childOf } from './child.js'
import type { Reloaded } from './control-protocol.js'
import { createRequests } from './control-requests.js'
import { connectToControl, listenForControl } from './control-socket.js'
import { lockDirectory } from './directory.js'
import { makeFirstKey } from './first-key.js'
import { createMembers } from './members.js'
import { createReadiness } from './readiness.js'
import { queueReloads } from './reloads.js'
import { createWorkers } from './workers.js'

/** How long to wait for the workers of a service that was killed, or for a command line tool, to let go. */
const directoryWaitMs = 15_000

/** Runs the service until it is told to stop; the process then ends by itself, with the exit code set. */
export async function runPrimary(flags: CommandLine['values']): Promise<void> {
  const log = createLog('primary')
  let config = readConfig(flags)
  checkCertificate(config, log)

  async function refuse(code: number, reason: string): Promise<never> {
    log.fatal({ reason }, 'not started')
    process.stderr.write(`topicd: ${reason}\n`)
    process.exit(code)
  }

  const running = await connectToControl(config.data)
  running?.destroy()
  const inUse = `the data directory ${config.data} is in use by another topicd`
  if (running !== undefined) return refuse(exitCodes.directoryInUse, inUse)
  const lock = await lockDirectory(config.data, directoryWaitMs)
  if (lock === undefined) return refuse(exitCodes.directoryInUse, inUse)
  const port = await provePortFree(config).catch((error: NodeJS.ErrnoException) =>
    refuse(exitCodes.portInUse, `can not listen on ${config.host}:${config.port}: ${error.code ?? error.message}`),
  )

  const stdio = ['ignore', 'inherit', 'inherit', 'ipc', lock.descriptor] as const
  const start = () => ({ kind: 'start', config, port }) as const
  const script = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url))
  cluster.setupPrimary({ exec: script('worker'), args: [], stdio: [...stdio] })
  const forkTool = (): ChildProcess => fork(script('tool'), [], { stdio: [...stdio], serialization: 'json' })

  const members = createMembers((child, reason) => log.error({ pid: child.process.pid, reason }, 'process killed'))
  const workers = createWorkers({
    count: () => config.workers,
    members,
    log,
    fork: () => {
      const worker = cluster.fork()
      // The worker repeats its process's errors, which childOf listens to; unheard they would end the primary.
      worker.on('error', () => {})
      const child = childOf(worker.process)
      metrics.watch(child)
      return child
    },
    start,
    drainMs: () => config.drainMs,
    onGivingUp: (reason) => void stop(exitCodes.restartLimit, reason),
  })

  let workersExpected = config.workers
  const { serving, restarts } = workers
  let onStarted = (): void => {}
  const reload = queueReloads(new Promise<void>((resolve) => (onStarted = resolve)), reloadOnce)
  const requests = createRequests({ serving, members, forkTool, start, reload, stopping: () => stopping, log })
  const { obstacles, alive } = createReadiness({ stopping: () => stopping, expected: () => workersExpected, serving })
  const metrics = createMetrics({ serving, restarts, ready: () => obstacles().length === 0 })

  let control: Server | undefined
  let admin: Awaited<ReturnType<typeof startAdmin>> | undefined
  let stopping = false

  async function stop(code: number, reason: string): Promise<void> {
    if (stopping) return
    stopping = true
    log.info({ reason }, 'stopping')
    notify('STOPPING=1', 'STATUS=Draining')
    process.exitCode = code
    for (const step of [() => workers.drain(), requests.endTools, () => admin?.close(), () => control?.close()]) {
      try {
        await step()
      } catch (error) {
        log.error({ err: error }, 'a step of the stop failed')
      }
    }
    log.info({ code }, 'stopped')
    process.exit()
  }

  function onSignal(signal: NodeJS.Signals): void {
    if (!stopping) return void stop(exitCodes.done, signal)
    workers.kill()
    requests.killTools()
    log.warn({ signal }, 'stopped at once')
    process.exit(exitCodes.forced)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)

  process.on('SIGHUP', () => void reload().catch(() => {}))

  /**
   * Reads the settings again and replaces the workers. When anything is wrong, what serves goes on as it was; the reason is
   * logged, and rejects. systemd has heard of the end when this settles.
   */
  async function reloadOnce(): Promise<Reloaded> {
    if (stopping) throw new Error('the service is stopping')
    const startedMs = performance.now()
    void notify('RELOADING=1', 'STATUS=Replacing the workers')
    const before = config
    try {
      const next = readConfig(flags)
      checkCertificate(next, log)
      const { host, port, data, adminHost, adminPort, store } = before
      const restartNeeded = Object.entries({ host, port, data, adminHost, adminPort, store }).flatMap(([name, value]) =>
        next[name as keyof Config] === value ? [] : [settingName(name)],
      )
      config = { ...next, host, port, data, adminHost, adminPort, store }
      workersExpected = Math.min(before.workers, config.workers)
      log.info({ config: shown(config) }, 'rolling restart')
      await workers.roll()
      if (stopping) throw new Error('stopped')
      workersExpected = config.workers
      const tookMs = Math.round(performance.now() - startedMs)
      log.info({ tookMs, restartNeeded }, 'rolling restart done')
      return { workers: config.workers, tookMs, restartNeeded }
    } catch (error) {
      config = before
      // What the stop ends must not be taken for a failure of its own.
      if (stopping) throw new Error('the service is stopping')
      log.error({ reason: (error as Error).message }, 'rolling restart failed')
      throw error
    } finally {
      if (!stopping) await notify('READY=1', servingStatus())
    }
  }

  const servingStatus = (): string => `STATUS=${serving().length} workers serve`

  const { adminHost, adminPort } = config
  const description = (): string => JSON.stringify(describeApi(config.basePath, version))
  admin = await startAdmin({ host: adminHost, port: adminPort, obstacles, metrics, description }).catch((error: Error) =>
    refuse(exitCodes.portInUse, `can not listen on ${adminHost}:${adminPort} (the admin listener): ${(error as NodeJS.ErrnoException).code ?? error.message}`),
  )

  try {
    control = await listenForControl(config.data, requests)
    await workers.start()
  } catch (error) {
    log.fatal({ err: error }, 'not started')
    process.stderr.write(`topicd: not started: ${(error as Error).message}\n`)
    workers.kill()
    process.exit(exitCodes.failed)
  }

  const url = `${config.tlsCert === '' ? 'http' : 'https'}://${bracketed(config.host)}:${port}${config.basePath}`
  log.info({ config: shown(config), node: process.version }, 'settings')
  log.info({ url, adminUrl: admin.url, workers: config.workers }, 'listening')
  if (config.firstKey) await makeFirstKey(workers.serving()[0], url, config.store === 'lmdb' ? config.data : shown(config).store)
  await notify('READY=1', servingStatus())
  onStarted()
  const period = watchdogMs()
  if (period !== undefined) setInterval(() => alive() && notify('WATCHDOG=1'), period / 3)
}

/** An address as it stands in a URL. */
function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** How a member of the configuration is spelled as a flag. */
function settingName(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** The settings without what may carry a password. */
function shown(config: Config): Config {
  return { ...config, store: config.store.replace(/\/\/.*@/, '//…@') }
}

/** A certificate that will end within this is worth a warning at each start. */
const certificateMsMin = 7 * 24 * 60 * 60 * 1000

/**
 * Tries the certificate and key, if the settings name any.
 *
 * @throws UsageError when they can not be used
 */
function checkCertificate({ tlsCert, tlsKey }: Config, log: Logger): void {
  if (tlsCert === '') return
  try {
    const { endMs } = readCertificate(tlsCert, tlsKey)
    const until = new Date(endMs).toISOString()
    if (endMs - Date.now() < certificateMsMin) log.warn({ until }, 'the certificate ends soon, or has ended')
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/**
 * Binds the port for a moment without sharing it: workers share it, so another service's would go unnoticed.
 *
 * @returns the port, which is a real one even if 0 was asked for
 */
function provePortFree({ host, port }: Config): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen({ host, port, exclusive: true }, () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port))
    })
  })
}
