/**
 * How a command reaches a store: through the running service where there is one, since nobody else may open the store
 * then; by itself, under the directory's lock, where there is none.
 */
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerQuestion } from '../cluster/answers.js'
import { connectToControl, readLine } from '../cluster/control-socket.js'
import { type DirectoryLock, lockDirectory } from '../cluster/directory.js'
import type { Question } from '../cluster/messages.js'
import type { Config } from '../config.js'
import { exitCodes, fatal } from '../exit-codes.js'
import { tools } from '../ops/tool.js'
import { isExclusive } from '../store/address.js'
import { openStore } from '../store/open.js'

/** The settings by which the topics are found, and those that bound the work on them. */
export type Where = Pick<Config, 'data' | 'store' | 'diskFreeBytesMin'>

/** How long to wait for a service that is just starting or stopping. */
const waitMs = 15_000

const retryMs = 100

/** Asks about API keys; exits with a message when nobody can answer. */
export async function ask(where: Where, question: Question): Promise<unknown> {
  const reached = await reach(where)
  if ('release' in reached) {
    const store = await openStore(where.store, { directory: where.data })
    try {
      return await answerQuestion(store, question)
    } finally {
      await store.close()
      reached.release()
    }
  }
  reached.write(`${JSON.stringify({ command: 'ask', question })}\n`)
  const line = await readLine(reached)
  reached.destroy()
  const { answer, error } = JSON.parse(line) as { answer?: unknown; error?: string }
  return error === undefined ? answer : fatal(exitCodes.failed, error)
}

/**
 * Runs a tool.
 *
 * @param onLine gets each line of its answer, in order
 * @param input bytes for it
 * @throws Error with the tool's own message
 */
export async function runTool(
  where: Where,
  tool: string,
  options: unknown,
  onLine: (line: string) => Promise<void> | void,
  input: AsyncIterable<Uint8Array> = nothing(),
): Promise<void> {
  const reached = await reach(where)
  if ('release' in reached) {
    const store = await openStore(where.store, { directory: where.data })
    const directory = isExclusive(where.store) ? where.data : undefined
    try {
      await tools[tool](store, options, { emit: (lines) => emitEach(lines, onLine), input, directory, diskFreeBytesMin: where.diskFreeBytesMin })
    } finally {
      await store.close()
      reached.release()
    }
    return
  }
  reached.write(`${JSON.stringify({ command: 'tool', tool, options })}\n`)
  let ended = false
  for await (const line of createInterface({ input: reached })) {
    if (line === '{"ready":true}') pipeline(input, reached, () => {})
    else if (line === '{"end":true}') ended = true
    else if (line.startsWith('{"error":')) throw new Error((JSON.parse(line) as { error: string }).error)
    else await onLine(line)
  }
  if (!ended) throw new Error('the service ended before the work was done')
}

async function emitEach(lines: string | Uint8Array, onLine: (line: string) => Promise<void> | void): Promise<void> {
  for (const line of Buffer.from(lines).toString().split('\n')) await onLine(line)
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** A connection to the running service, or the lock; exits when neither can be had. A shared store needs neither. */
async function reach({ data, store }: Where): Promise<Socket | Pick<DirectoryLock, 'release'>> {
  if (!isExclusive(store)) return { release() {} }
  const deadline = Date.now() + waitMs
  for (;;) {
    const socket = await connectToControl(data)
    if (socket !== undefined) return socket
    const lock = await lockDirectory(data, 0)
    if (lock !== undefined) return lock
    if (Date.now() > deadline) {
      return fatal(exitCodes.directoryInUse, `the data directory ${data} is in use, but its service does not answer`)
    }
    await sleep(retryMs)
  }
}
