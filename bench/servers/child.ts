/**
 * Child processes of a benchmark: each is started, awaited and stopped through its own handle. When the benchmark exits or receives a
 * terminating signal, its children are killed. A child's stderr is shown only if it fails.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Time within which a child must be ready, including recovery of a big tree. */
const startMsMax = 60_000

/** Time within which a child must exit before it is killed. */
const stopMsMax = 20_000

/** Characters of stderr, from its end, that a failure shows. */
const stderrCharactersMax = 4000

const running = new Set<ChildProcess>()

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    console.error(`terminated by ${signal}`)
    process.exit(1)
  })
}

/** A child that is ready. */
export interface Child {
  readonly pid: number
  /** Sends SIGTERM and waits; kills the child if it does not exit. */
  stop(): Promise<void>
}

/** This process's environment without any topicd settings from a developer's shell. */
export const cleanEnvironment: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('TOPICD_')),
)

/** The command of a child, and the sign that it is ready. */
interface Start {
  readonly command: string
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Called with every line of stdout, or polled, until it returns true. */
  readonly ready: { readonly line: (line: string) => boolean } | { readonly poll: () => Promise<boolean> }
}

/** Starts a child and resolves when it is ready. Rejects with the end of its stderr if it exits first or takes too long. */
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
      resolve(`${name} exited (${signal ?? code})`)
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

/** Kills every running child: a server of several processes may have failed during its start. */
export async function stopChildren(): Promise<void> {
  const left = [...running].map((child) => once(child, 'exit'))
  for (const child of running) child.kill('SIGKILL')
  await Promise.all(left)
}

/** A port of 127.0.0.1 that was free a moment ago, for programs that cannot choose one on their own. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Continues reading after the line, so that the child never blocks on a full pipe. */
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
