/**
 * The workers of a service: one in each slot, replaced when it dies, rolled over on request, drained at the end. Exactly
 * one of them keeps house (carries out due removals).
 */
import type { Logger } from '../ops/log.js'
import type { Child } from './child.js'
import type { Members } from './members.js'
import type { ToChild } from './messages.js'
import { createRestartPolicy, youngDeathsMax } from './restarts.js'

/** Loading the code of a worker, on a machine that is busy with everything else. */
const loadMsMax = 60_000

/** Reading the keys and binding the port. */
const serveMsMax = 30_000

/** A heartbeat comes every second: a worker that was silent for so long hangs, and is killed so that it can be replaced. */
const silentMsMax = 20_000

/** Between two looks for silent workers. */
const silenceLookMs = 2000

/** After this much more than it was given, a drain has failed and the worker is killed. */
const drainMsMore = 3000

export interface WorkersOptions {
  readonly count: () => number
  readonly members: Members
  readonly log: Logger
  /** Forks a worker. */
  readonly fork: () => Child
  /** What to tell it first. */
  readonly start: () => Extract<ToChild, { kind: 'start' }>
  readonly drainMs: () => number
  /** Called once, when starting more workers makes no sense. */
  readonly onGivingUp: (reason: string) => void
}

export interface Workers {
  /** Starts all; resolves when every one of them serves, rejects when one can not. */
  start(): Promise<void>
  /** Replaces all, one at a time, each new one serving before the old one drains. */
  roll(): Promise<void>
  drain(): Promise<void>
  kill(): void
  readonly serving: () => readonly Child[]
  /** Workers started in the place of one that died, since the start. */
  readonly restarts: () => number
}

export function createWorkers(options: WorkersOptions): Workers {
  const { members, log, fork, onGivingUp } = options
  const serving: Child[] = []
  const starting = new Set<Child>()
  const restartAfter = createRestartPolicy()
  let restarts = 0
  let ending = false

  /** A worker that has loaded its code and read its settings. */
  async function load(): Promise<Child> {
    const child = fork()
    starting.add(child)
    void child.ended.then(() => starting.delete(child))
    await child.said('loaded', loadMsMax)
    child.tell(options.start())
    return child
  }

  async function serve(child: Child): Promise<void> {
    const served = child.said('serving', serveMsMax)
    child.tell({ kind: 'serve' })
    await served
    starting.delete(child)
    serving.push(child)
    appointHousekeeper()
    void child.ended.then((end) => onEnd(child, end))
  }

  async function startOne(): Promise<Child> {
    const child = await load()
    try {
      await members.open(child)
      await serve(child)
      return child
    } catch (error) {
      child.process.kill('SIGKILL')
      throw error
    }
  }

  /** The first of those that serve keeps house; told whenever that may have changed. */
  function appointHousekeeper(): void {
    for (const [place, child] of serving.entries()) child.tell({ kind: 'housekeep', enabled: place === 0 })
  }

  function forget(child: Child): boolean {
    const place = serving.indexOf(child)
    if (place < 0) return false
    serving.splice(place, 1)
    appointHousekeeper()
    return true
  }

  function onEnd(child: Child, { code, signal }: { code: number | null; signal: string | null }): void {
    if (!forget(child) || ending) return
    const livedMs = Math.round(performance.now() - child.startedMs)
    log.error({ worker: child.process.pid, code, signal, livedMs }, 'worker died')
    replace(livedMs)
  }

  function replace(livedMs: number): void {
    const delayMs = restartAfter(livedMs)
    if (delayMs === undefined) return onGivingUp(`workers died ${youngDeathsMax + 1} times in a row within seconds of their start`)
    setTimeout(() => {
      if (ending) return
      const startedMs = performance.now()
      restarts++
      startOne().then(
        (child) => log.info({ worker: child.process.pid }, 'worker replaced'),
        (error: Error) => {
          if (ending) return
          log.error({ reason: error.message }, 'worker could not be started')
          replace(performance.now() - startedMs)
        },
      )
    }, delayMs)
  }

  let lookedAt = performance.now()

  function killSilent(): void {
    const now = performance.now()
    const sinceMs = now - lookedAt
    lookedAt = now
    // The whole machine may have stood still, and what workers said since is still unread.
    if (sinceMs > 2 * silenceLookMs) return
    for (const child of serving) {
      const silentMs = Math.round(now - child.heardMs)
      if (silentMs < silentMsMax) continue
      log.error({ worker: child.process.pid, silentMs }, 'worker hangs')
      child.process.kill('SIGKILL')
    }
  }
  setInterval(killSilent, silenceLookMs).unref()

  async function drainOne(child: Child): Promise<void> {
    child.tell({ kind: 'drain' })
    const timer = setTimeout(() => child.process.kill('SIGKILL'), options.drainMs() + drainMsMore)
    await child.ended
    clearTimeout(timer)
  }

  return {
    async start() {
      const loaded = await Promise.all(Array.from({ length: options.count() }, load))
      for (const child of loaded) await members.open(child)
      await Promise.all(loaded.map(serve))
    },
    async roll() {
      const old = [...serving]
      const count = options.count()
      for (let place = 0; place < Math.max(old.length, count); place++) {
        if (ending) return
        if (place < count) await startOne()
        const leaving = old[place]
        if (leaving !== undefined && forget(leaving)) await drainOne(leaving)
      }
    },
    async drain() {
      ending = true
      for (const child of starting) child.process.kill('SIGKILL')
      await Promise.all([...serving].map(drainOne))
    },
    kill() {
      ending = true
      for (const child of [...serving, ...starting]) child.process.kill('SIGKILL')
    },
    serving: () => serving,
    restarts: () => restarts,
  }
}
