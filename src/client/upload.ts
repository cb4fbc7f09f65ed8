/** Uploads of any number of operations, as lines. Requests are small, because browsers cannot stream request bodies. */
import type { Connection, RequestOptions } from './connection.js'
import { TopicdError } from './error.js'
import { bodyText } from './json-text.js'
import { unlessAborted, wait } from './wait.js'
import type { Operation } from './wire.js'

/** Limits for one request; its last operation may exceed the first limit. Within the second, the service lists every rejection. */
const requestUnitsMax = 256 * 1024
const requestOperationsMax = 4000

/** The wait before the rest is sent to another worker. */
const drainedMs = 50

/** Counts of the operations that were processed. */
export interface Uploaded {
  /** Operations that were applied and are on disk. */
  readonly durable: number
  /** Operations that were rejected. */
  readonly refused: number
}

/** A rejected operation. */
export interface Refusal {
  /** The operation's index among all operations, from 0. */
  readonly index: number
  readonly code: string
  readonly message: string
}

export interface UploadOptions extends RequestOptions {
  /** Called as operations become durable, with the counts so far: the first `durable` + `refused` operations are done. */
  readonly onProgress?: ((uploaded: Uploaded) => void) | undefined
  /** Called for each rejected operation, before the `onProgress` call that counts it. */
  readonly onRefused?: ((refusal: Refusal) => void) | undefined
}

interface AnswerLine extends Partial<Uploaded> {
  readonly done?: boolean
  readonly line?: number
  readonly code?: string
  readonly message?: string
}

/** Implements `Client.upload`. */
export async function upload(
  { sendLines }: Connection,
  operations: Iterable<Operation> | AsyncIterable<Operation>,
  { signal, onProgress, onRefused }: UploadOptions,
): Promise<Uploaded> {
  let uploaded: Uploaded = { durable: 0, refused: 0 }
  for await (const lines of requestsOf(operations, signal)) {
    for (let rest = lines; rest.length > 0; ) {
      const text = await sendLines('batch', `${rest.join('\n')}\n`, signal).catch(drainedText)
      const answer = answerLines(text)
      const doneBefore = uploaded.durable + uploaded.refused
      for (const { line, code = '', message = '' } of answer)
        if (line !== undefined) onRefused?.({ index: doneBefore + line - 1, code, message })
      const { durable = 0, refused = 0, code, message = '' } = answer.at(-1) ?? {}
      uploaded = { durable: uploaded.durable + durable, refused: uploaded.refused + refused }
      onProgress?.(uploaded)
      rest = rest.slice(durable + refused)
      if (code === undefined) continue
      if (code !== 'draining') throw new TopicdError(200, code, message)
      // The worker is being replaced: another worker takes the rest.
      await wait(drainedMs, signal)
    }
  }
  return uploaded
}

/** The equivalent response if nothing was applied because the worker is being replaced. @throws any other error */
function drainedText(error: unknown): string {
  if (!(error instanceof TopicdError) || error.code !== 'draining') throw error
  return JSON.stringify({ code: error.code, message: error.message, durable: 0, refused: 0 })
}

/** Yields all operations before one that fails. @throws the operation's error; the signal's reason once it is aborted */
async function* requestsOf(
  operations: Iterable<Operation> | AsyncIterable<Operation>,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly string[]> {
  let lines: string[] = []
  let units = 0
  let failure: { readonly error: unknown } | undefined
  try {
    for await (const operation of untilAborted(operations, signal)) {
      // A JsonText may contain line ends between its tokens.
      const line = bodyText(operation).replace(/[\r\n]/g, ' ')
      lines.push(line)
      units += line.length
      if (units < requestUnitsMax && lines.length < requestOperationsMax) continue
      yield lines
      lines = []
      units = 0
    }
  } catch (error) {
    signal?.throwIfAborted()
    failure = { error }
  }
  if (lines.length > 0) yield lines
  if (failure !== undefined) throw failure.error
}

/** If the signal is aborted, ends even while the source produces nothing. */
async function* untilAborted<Made>(
  source: Iterable<Made> | AsyncIterable<Made>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Made> {
  if (signal === undefined) return yield* source
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  try {
    for (;;) {
      const { value, done } = await unlessAborted(iterator.next(), signal)
      if (done === true) return
      yield value
    }
  } finally {
    // Does not wait for a source that is still producing an operation.
    Promise.resolve(iterator.return?.()).catch(() => {})
  }
}

/** @throws TopicdError if the response is incomplete or not from the service */
function answerLines(text: string): readonly AnswerLine[] {
  try {
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AnswerLine)
    const { done, code, durable } = lines.at(-1) ?? {}
    if (durable !== undefined && (done === true || code !== undefined)) return lines
  } catch {}
  throw new TopicdError(200, 'unexpected_answer', 'The response to the upload has no final counts.')
}
