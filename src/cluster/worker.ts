/**
 * One worker's life, as a program of its own that the primary forks: load → open the store when told so → serve → drain.
 * It does nothing unasked, and when the primary is gone it ends at once.
 *
 * Ending: a drain answers what is in flight and closes the store. A broken commit ends the process too, after the answers
 * that are due were given. Everything else is a kill, which the store survives.
 */
import { createService, handlers } from '../api/service.js'
import { Keyring } from '../auth/keyring.js'
import type { Config } from '../config.js'
import { exitCodes } from '../exit-codes.js'
import { connectionsAllowed } from '../http/connections.js'
import { type HttpServer, startHttpServer } from '../http/server.js'
import { answersPerTiming } from '../limits.js'
import { createAccessLog } from '../ops/access-log.js'
import { watchDisk } from '../ops/free-space.js'
import { createLog, logCrashes } from '../ops/log.js'
import { createRequestCounter, type RequestCounter } from '../ops/request-stats.js'
import { readCommits, readLoop, readProcess, watchLoop } from '../ops/worker-stats.js'
import { isExclusive } from '../store/address.js'
import { ignoreUnheardCommitFailures } from '../store/lmdb/commits.js'
import { openStore } from '../store/open.js'
import { StoreError, type StoreStats, type TopicStore } from '../store/store.js'
import { version } from '../version.js'
import { answerQuestion } from './key-requests.js'
import { bracketed } from './listen-problem.js'
import type { FromChild, ToChild } from './messages.js'

const heartbeatMs = 1000

/** Between two looks for due removals: they are gone within 5 s, at worst after a slow look. */
const housekeepingMs = 1000

/** How long the last answers of a broken worker may take to leave. */
const lastWordsMs = 100

/** One log line a second about refused keys, with their number: a flood of them must not become a flood of lines. */
const refusedKeyLogMs = 1000

const log = createLog('worker')
logCrashes(log)
ignoreUnheardCommitFailures()
const loop = watchLoop()

let config: Config
let port = 0
let store: TopicStore | undefined
let keyring: Keyring | undefined
let server: HttpServer | undefined
let disk: Awaited<ReturnType<typeof watchDisk>> | undefined
let housekeeping: NodeJS.Timeout | undefined
let isSweeper = false
let sweepFails = false
let traffic: RequestCounter | undefined
let expired = 0
let refusedKeys = 0
let broken = false
let ending = false

function send(message: FromChild): void {
  if (process.connected) process.send?.(message)
}

function opened(): TopicStore {
  if (store === undefined) throw new Error('the store is not open')
  return store
}

function end(code: number): void {
  ending = true
  process.exit(code)
}

function onBroken(reason: Error): void {
  if (broken) return
  broken = true
  log.fatal({ err: reason, cause: String(reason.cause ?? '') }, 'commit failed; this worker ends')
  send({ kind: 'broken' })
  // Its exit may have to wait for the disk; its clients need not.
  setTimeout(() => {
    server?.close()
    end(exitCodes.commitFailed)
  }, lastWordsMs)
}

/** An engine that came late, and is none that this program can use. */
function onUnusable(reason: Error): void {
  log.fatal({ err: reason }, 'the store cannot be used')
  send({ kind: 'failed', reason: reason.message })
  end(exitCodes.storeUnusable)
}

function onRefusedKey(): void {
  if (refusedKeys++ === 0) setTimeout(logRefusedKeys, refusedKeyLogMs)
}

function logRefusedKeys(): void {
  if (refusedKeys > 0) log.warn({ count: refusedKeys }, 'API key refused')
  refusedKeys = 0
}

async function open(): Promise<void> {
  const socketCount = (): number => server?.connections() ?? 0
  store = await openStore(config.store, {
    directory: config.data,
    socketCount,
    onBroken,
    sharers: config.workers,
    fencedReads: config.fencedReads,
    onUnusable,
  })
  // What asks for a first key has to know whether anybody can be asked.
  beat()
  keyring = await Keyring.open(store, (error) => log.error({ err: error }, 'API keys could not be read'))
  // A store elsewhere says by itself when it is full, and our own disk is no measure of it.
  if (isExclusive(config.store))
    disk = await watchDisk(config.data, config.diskFreeBytesMin, config.workers, () => server?.bodyBytes() ?? 0)
}

function diskNearlyFull(bodyBytes: number): boolean {
  return disk?.nearlyFull(bodyBytes) === true
}

async function serve(): Promise<void> {
  const { basePath, bodyBytesMax, pageSizeMax, pageBytesMax, host, tlsCert, tlsKey } = config
  const context = { store: opened(), pageSizeMax, pageBytesMax, diskNearlyFull }
  const counted = createRequestCounter(Object.keys(handlers).map((path) => basePath + path))
  traffic = counted
  const logged = config.accessLog ? createAccessLog(log) : undefined
  const service = createService({
    context,
    keyring: keyring as Keyring,
    basePath,
    bodyBytesMax,
    address: `${bracketed(host)}:${port}`,
    onFailure: (error) => log.error({ err: error }, 'request failed'),
    onRefusedKey,
    answered:
      logged === undefined
        ? counted.answered
        : (request, answer) => {
            counted.answered(request, answer)
            logged(request, answer)
          },
    closed: counted.closed,
  })
  const tls = tlsCert === '' ? undefined : { certFile: tlsCert, keyFile: tlsKey }
  const timedOneIn = config.accessLog ? 1 : answersPerTiming
  server = await startHttpServer(service, { host, port, bodyBytesMax, timedOneIn, tls })
}

/** Every step runs, though an earlier one failed. */
async function drain(): Promise<void> {
  keepHouse(false)
  const steps = [
    () => server?.drain(config.drainMs),
    () => sendStats(false),
    logRefusedKeys,
    () => keyring?.close(),
    () => store?.close(),
  ]
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      log.warn({ err: error }, 'a step of the drain failed')
    }
  }
  end(exitCodes.done)
}

function keepHouse(enabled: boolean): void {
  isSweeper = enabled
  clearTimeout(housekeeping)
  if (enabled) sweepLater()
}

function sweepLater(): void {
  housekeeping = setTimeout(() => {
    void opened()
      .removeDue()
      .then(({ removed }) => {
        sweepFails = false
        expired += removed
        if (removed > 0) log.info({ removed }, 'topics removed by their policies')
      }, onSweepFailure)
      .finally(() => isSweeper && sweepLater())
  }, housekeepingMs)
}

/** Says it once in a row. An engine that is away is told of by the primary, and whoever drains has no use for it. */
function onSweepFailure(error: unknown): void {
  if (sweepFails || broken || !isSweeper || opened().notReady?.() !== undefined) return
  sweepFails = true
  log.error({ err: error }, 'due removals failed')
}

/** Carries out `step` and says `done`; ends with `code` when it fails. */
async function carryOut(step: () => Promise<void>, done: FromChild, code: number): Promise<void> {
  try {
    await step()
    send(done)
  } catch (error) {
    log.fatal({ err: error }, 'worker could not go on')
    send({ kind: 'failed', reason: (error as Error).message })
    end(code)
  }
}

async function answer(id: number, question: Extract<ToChild, { kind: 'ask' }>['question']): Promise<void> {
  try {
    send({ kind: 'answer', id, answer: await answerQuestion(opened(), question) })
  } catch (error) {
    send({ kind: 'unanswered', id, reason: (error as Error).message })
  }
}

/** An engine that is away must not take the other figures with it. */
async function readStored(store: TopicStore): Promise<StoreStats | undefined> {
  try {
    return await store.stats()
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

async function sendStats(stored: boolean): Promise<void> {
  if (store === undefined || server === undefined || traffic === undefined) return
  const figures = {
    ...traffic.read(),
    ...readProcess(),
    connections: server.connections(),
    waiting: server.waiting(),
    commits: readCommits(store),
    expired,
    stored: stored ? await readStored(store) : undefined,
    connectionsMax: connectionsAllowed(),
    diskFreeBytes: disk?.freeBytes() ?? 0,
    diskFreeBytesMin: disk?.freeBytesMin,
    loopDelay: readLoop(loop),
  }
  send({ kind: 'figures', figures })
}

process.on('message', (message: ToChild) => {
  switch (message.kind) {
    case 'start':
      ;({ config, port } = message)
      return
    case 'open':
      return void carryOut(open, { kind: 'opened' }, exitCodes.storeUnusable)
    case 'serve':
      return void carryOut(serve, { kind: 'serving' }, exitCodes.listenFailed)
    case 'hold':
      return void opened()
        .pauseWrites()
        .then(() => send({ kind: 'held' }))
    case 'release':
      return opened().resumeWrites()
    case 'housekeep':
      return keepHouse(message.enabled)
    case 'drain':
      return void drain()
    case 'ask':
      return void answer(message.id, message.question)
    case 'measure':
      return void sendStats(message.stored).catch((error: unknown) =>
        log.error({ err: error }, 'figures could not be read'),
      )
    default:
      return message satisfies never
  }
})

/** Why requests cannot be answered from the store; undefined while they can. */
function storeProblem(): string | undefined {
  return store?.notReady?.() ?? (keyring?.isKnown() === false ? 'the API keys have not been read yet' : undefined)
}

function beat(): void {
  send({ kind: 'heartbeat', writable: !broken && disk?.nearlyFull() !== true, storeProblem: storeProblem() })
}
setInterval(beat, heartbeatMs)

// Signals are the primary's: a terminal sends them to the whole group, and the primary tells each worker what to do.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

// Without its primary a worker must not write: the next service may open the store any moment. Nothing gentler is as sure.
process.on('exit', () => {
  if (!ending) process.kill(process.pid, 'SIGKILL')
})
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))

send({ kind: 'loaded', version })
