/**
 * A tool's process, as a program of its own. Beside a service the primary forks it, as one more member; without one the
 * command line does (commands/standalone-tool.ts). It opens the store when told to, holds its writes when told to, does its one piece
 * of work over a connection, and ends. Damaged files may end it by a signal, which its parent survives and can explain.
 *
 * The work is stopped when its connection closes, when nobody takes its output, and by SIGTERM. It then ends at its next
 * step, so that no snapshot outlives it: a snapshot that stays keeps every page that is freed later from being used again.
 * In order: the work ends → the store closes → the last line says how it went → the process ends.
 */
import { once } from 'node:events'
import { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import type { Config } from '../config.js'
import { exitCodes } from '../exit-codes.js'
import { toolUnreadMsMax } from '../limits.js'
import { createLog, logCrashes } from '../ops/log.js'
import { isExclusive } from '../store/address.js'
import { ignoreUnheardCommitFailures } from '../store/lmdb/commits.js'
import { openStore } from '../store/open.js'
import { Cancelled, type TopicStore } from '../store/store.js'
import { type Tool, tools } from '../tools/tool.js'
import { version } from '../version.js'
import { answerLine, endLine, errorLine, readyLine } from './control-protocol.js'
import { answerQuestion } from './key-requests.js'
import type { FromChild, Question, ToChild } from './messages.js'

/** The settings that a tool needs. */
export type ToolConfig = Pick<Config, 'store' | 'data' | 'diskFreeBytesMin'>

/** The parent's last word: what to do, with the connection as the message's handle, or on `connectionDescriptor`. */
interface ToolMessage {
  readonly kind: 'tool'
  readonly tool: string
  readonly options: unknown
}

/** Where a process that was handed no connection finds one. */
export const connectionDescriptor = 5

/** How long a stopped tool waits: for the store to close, which cannot be while lmdb copies, and for its last line to leave. */
const stopMsMax = 300

const stopping = new AbortController()
let config: ToolConfig
let opening: Promise<TopicStore> | undefined
let working = false
let ending = false

// A defect ends it with an exit code of its own: a kill would look like the system's (see the exit below).
process.on('uncaughtException', () => (ending = true))
logCrashes(createLog('tool'))
ignoreUnheardCommitFailures()

function stop(reason: string): void {
  stopping.abort(new Error(reason))
}

function send(message: FromChild): void {
  if (process.connected) process.send?.(message)
}

/** Says `opened` even when that failed: the other members may go on then, and the one who asked is told by `work`. */
async function open(): Promise<void> {
  opening = openStore(config.store, { directory: config.data })
  await opening.catch(() => {})
  send({ kind: 'opened' })
}

async function hold(): Promise<void> {
  const store = await opening?.catch(() => undefined)
  await store?.pauseWrites()
  send({ kind: 'held' })
}

async function release(): Promise<void> {
  const store = await opening?.catch(() => undefined)
  store?.resumeWrites()
}

function end(code: number): never {
  ending = true
  process.exit(code)
}

/** Where a worker serves, it is asked instead. */
const answerTool: Tool = async (store, question, { emit }) => {
  await emit(answerLine(await answerQuestion(store, question as Question)))
}

async function work({ tool, options }: ToolMessage, connection: Socket): Promise<void> {
  working = true
  // The end of what comes in is not the end of what goes out.
  connection.allowHalfOpen = true
  for (const event of ['error', 'close']) connection.on(event, () => stop('nobody waits for it any more'))
  connection.write(`${readyLine}\n`)
  const last = await carryOut(tool === 'ask' ? answerTool : tools[tool], options, connection).then(
    () => endLine,
    (error: Error) => errorLine(error instanceof Cancelled ? (stopping.signal.reason as Error).message : error.message),
  )
  const closed = await within(stopMsMax, (await opening?.catch(() => undefined))?.close())
  connection.end(`${last}\n`)
  // What is still sent has no reader any more; unread it would keep the connection from closing.
  connection.resume()
  if (!connection.closed) await within(stopping.signal.aborted ? stopMsMax : toolUnreadMsMax, once(connection, 'close'))
  // An exit would wait until lmdb has copied everything, so it ends in a kill (below).
  if (!closed) process.exit()
  end(exitCodes.done)
}

async function carryOut(tool: Tool, options: unknown, connection: Socket): Promise<void> {
  const { signal } = stopping
  const input = connection.pipe(new PassThrough())
  input.on('error', () => {})
  signal.addEventListener('abort', () => input.destroy(signal.reason as Error))

  async function emit(lines: string | Uint8Array): Promise<void> {
    if (signal.aborted) throw new Cancelled()
    connection.cork()
    connection.write(lines)
    const room = connection.write('\n')
    connection.uncork()
    if (room) return
    const timer = setTimeout(
      () => stop(`nothing of its output was taken for ${toolUnreadMsMax / 1000} s`),
      toolUnreadMsMax,
    )
    try {
      await once(connection, 'drain', { signal })
    } catch {
      throw new Cancelled()
    } finally {
      clearTimeout(timer)
    }
  }

  const store = await opening
  if (store === undefined || tool === undefined) throw new Error('there is no such tool')
  const directory = isExclusive(config.store) ? config.data : undefined
  await tool(store, options, { emit, input, signal, directory, diskFreeBytesMin: config.diskFreeBytesMin })
}

/** Whether it was fulfilled in time. */
async function within(ms: number, promise: Promise<unknown> | undefined): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  const settled = Promise.resolve(promise).then(
    () => true,
    () => false,
  )
  return Promise.race([settled, late]).finally(() => clearTimeout(timer))
}

process.on('message', (message: ToChild | ToolMessage, handle: unknown) => {
  switch (message.kind) {
    case 'start':
      config = message.config
      return
    case 'open':
      return void open()
    case 'hold':
      return void hold()
    case 'release':
      return void release()
    case 'tool':
      return void work(message, handle instanceof Socket ? handle : new Socket({ fd: connectionDescriptor }))
  }
})

process.on('SIGTERM', () => {
  stop('the service is stopping')
  if (!working) end(exitCodes.failed)
})
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

// Without its parent it must not write: the next service may open the store any moment. A backup removes its file before.
process.on('exit', () => {
  if (!ending) process.kill(process.pid, 'SIGKILL')
})
process.on('disconnect', () => process.exit())

send({ kind: 'loaded', version })
