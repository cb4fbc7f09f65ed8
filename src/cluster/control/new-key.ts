/**
 * Adds an API key even if a response gets lost: a process that ends between its commit and its response has created the key.
 * So the request is repeated, and the key is recognized by its token's hash. The caller decides which process gets a
 * request.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyRecord, ListedKey } from '../../keys/record.js'
import { NothingDone } from '../messages.js'
import type { SendKeyRequest } from './messages.js'
import { MalformedRequest } from './protocol.js'

/** Between two attempts; a dead process is replaced within a few attempts. */
const retryMs = 100

/**
 * Repeats a request until a response comes, or it is certain that nothing came of an attempt. The attempt in flight after
 * `msMax` is the last.
 *
 * @throws NothingDone when nothing came of any attempt, or its form was refused; otherwise Error of the last one of which that is not certain
 */
export async function persistently<Response>(attempt: () => Promise<Response>, msMax: number): Promise<Response> {
  const deadline = performance.now() + msMax
  let uncertain: Error | undefined
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (error instanceof MalformedRequest) throw error
      if (error instanceof NothingDone) throw uncertain ?? error
      if (performance.now() > deadline) throw error
      uncertain = error as Error
    }
    await sleep(retryMs)
  }
}

/** All keys. @throws Error when no response came */
export function readKeys(send: SendKeyRequest): Promise<readonly ListedKey[]> {
  return send({ command: 'listKeys' })
}

/**
 * Adds a key; `send` may repeat the request.
 *
 * @returns whether this key exists now; if not, another key has its name
 * @throws Error when no response came; the key may exist or not
 */
export async function addNewKey(send: SendKeyRequest, record: KeyRecord): Promise<boolean> {
  if (await send({ command: 'addKey', record })) return true
  // An earlier attempt may have added it without a response.
  return (await readKeys(send)).some(({ tokenHash }) => tokenHash === record.tokenHash)
}
