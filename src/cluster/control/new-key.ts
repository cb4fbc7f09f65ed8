/**
 * Adds an API key even if an answer gets lost: a worker that ends between its commit and its answer has made the key.
 * So the question is repeated, and the key is recognized by its token's hash. The caller decides how a question reaches
 * a worker.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyRecord, ListedKey } from '../../keys/record.js'
import type { Question } from '../messages.js'
import { MalformedRequest } from './protocol.js'

/** Sends a question about API keys; rejects when no answer came. */
export type SendQuestion = (question: Question) => Promise<unknown>

/** Between two attempts; a dead worker is replaced within a few attempts. */
const retryMs = 100

/**
 * Repeats a question until an answer comes, or a refusal of its form. The attempt in flight after `msMax` is the last.
 *
 * @throws Error of the last attempt
 */
export function persistently(send: SendQuestion, msMax: number): SendQuestion {
  return async (question) => {
    const deadline = performance.now() + msMax
    for (;;) {
      try {
        return await send(question)
      } catch (error) {
        if (error instanceof MalformedRequest || performance.now() > deadline) throw error
      }
      await sleep(retryMs)
    }
  }
}

/** All keys. @throws Error when no answer came */
export async function readKeys(send: SendQuestion): Promise<readonly ListedKey[]> {
  return (await send({ about: 'listKeys' })) as readonly ListedKey[]
}

/**
 * Adds a key; `send` may repeat the question.
 *
 * @returns whether this key exists now; if not, another key has its name
 * @throws Error when no answer came; the key may exist or not
 */
export async function addNewKey(send: SendQuestion, record: KeyRecord): Promise<boolean> {
  if ((await send({ about: 'addKey', record })) === true) return true
  // An earlier attempt may have added it without an answer.
  return (await readKeys(send)).some(({ tokenHash }) => tokenHash === record.tokenHash)
}
