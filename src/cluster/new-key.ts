/**
 * How an API key is added though an answer may get lost: a worker that ends between its commit and its answer has made the
 * key. So the question is asked again, and the key is known by its token's hash. How a question reaches a worker is the
 * caller's to know.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyRecord } from '../store/store.js'
import type { ListedKey, Question } from './messages.js'

/** Asks about API keys; rejects when no answer came. */
export type Ask = (question: Question) => Promise<unknown>

/** Between two attempts: long enough for a worker to be replaced within a few. */
const retryMs = 100

/**
 * Asks again while no answer comes. The attempt that is in flight after `msMax` is the last.
 *
 * @throws Error of the last attempt
 */
export function persistently(ask: Ask, msMax: number): Ask {
  return async (question) => {
    const deadline = performance.now() + msMax
    for (;;) {
      try {
        return await ask(question)
      } catch (error) {
        if (performance.now() > deadline) throw error
      }
      await sleep(retryMs)
    }
  }
}

/** @throws Error when no answer came */
export async function readKeys(ask: Ask): Promise<readonly ListedKey[]> {
  return (await ask({ about: 'listKeys' })) as readonly ListedKey[]
}

/**
 * Adds a key, with an `ask` that may ask again.
 *
 * @returns whether this very key is there now; if not, another one has its name
 * @throws Error when no answer came; the key may be there, or may not
 */
export async function addNewKey(ask: Ask, record: KeyRecord): Promise<boolean> {
  if ((await ask({ about: 'addKey', record })) === true) return true
  // An earlier attempt may have added it without an answer.
  return (await readKeys(ask)).some(({ tokenHash }) => tokenHash === record.tokenHash)
}
