/**
 * Child processes of a benchmark: each is started, awaited and ended through its own handle. When the benchmark exits
 * or is ended by a signal, its children are killed. What a child writes to stderr is shown only when it fails.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Time within which a child must be ready, recovery of a big tree included. */
const startMsMax = 60_000

/** Time within which it must exit before it is killed. */
const stopMsMax = 20_000

/** Length of the end of stderr that a failure shows. */
const stderrCharactersMax = 4000

const running = new Set<ChildProcess>()

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    console.error(`ended by ${signal}`)
    process.exit(1)
  })
}

/** A child that is ready. */
export interface Child {
  readonly pid: number
  /** Sends SIGTERM, waits, and kills it if it does not end. */
  stop(): Promise<void>
}

/** This process's environment without the settings of topicd that a developer's shell may contain. */
export const cleanEnvironment: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('TOPICD_')),
)

/** How a child is started, and how it shows that it is ready. */
interface Start {
  readonly command: string
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Called with every line of stdout, or polled, until it returns true. */
  readonly ready: { readonly line: (line: string) => boolean } | { readonly poll: () => Promise<boolean> }
}

/**
 * Starts a child and resolves when it is ready; rejects, with the end of its stderr, if it exits first or takes too
 * long.
 */
export async function startChild(start: Start): Promise<Child> {
  const name = start.command.split('/').at(-1)
  const child = spawn(start.command, start.args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...cleanEnvironment, ...start.environment },
  })
  running.add(child)
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-stderrCharactersMax)))
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => {
      running.delete(child)
      resolve(`${name} ended (${signal ?? code})`)
    })
  })
  const deadline = timer(startMsMax)
  const failed = Promise.race([ended, deadline.expired.then(() => `${name} was not ready after ${startMsMax} ms`)])
  if ('poll' in start.ready) child.stdout.resume()
  const ready = 'line' in start.ready ? lineRead(child.stdout, start.ready.line) : polled(start.ready.poll, ended)
  const failure = await Promise.race([ready, failed])
  deadline.clear()
  if (failure !== undefined) {
    child.kill('SIGKILL')
    throw new Error(`${failure}\n${errors}`)
  }
  return {
    pid: child.pid as number,
    stop: async () => {
      child.kill('SIGTERM')
      const limit = timer(stopMsMax)
      await Promise.race([ended, limit.expired.then(() => child.kill('SIGKILL'))])
      await ended
      limit.clear()
    },
  }
}

/** Kills every child that still runs: a server of several processes may have failed during its start. */
export async function stopChildren(): Promise<void> {
  const left = [...running].map((child) => once(child, 'exit'))
  for (const child of running) child.kill('SIGKILL')
  await Promise.all(left)
}

/** A port of 127.0.0.1 that was free a moment ago, for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Keeps reading after the line, so that the child never blocks on a full pipe. */
function lineRead(stdout: Readable, isReady: (line: string) => boolean): Promise<undefined> {
  return new Promise((resolve) => {
    createInterface(stdout).on('line', (line) => {
      if (isReady(line)) resolve(undefined)
    })
  })
}

async function polled(isReady: () => Promise<boolean>, ended: Promise<unknown>): Promise<undefined> {
  let over = false
  void ended.then(() => (over = true))
  while (!over && !(await isReady().catch(() => false))) await new Promise((resolve) => setTimeout(resolve, 50))
}

function timer(ms: number): { expired: Promise<void>; clear: () => void } {
  let handle: NodeJS.Timeout | undefined
  const expired = new Promise<void>((resolve) => (handle = setTimeout(resolve, ms)))
  return { expired, clear: () => clearTimeout(handle) }
}
