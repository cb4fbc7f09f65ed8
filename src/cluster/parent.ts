/** A child's messages to and from the process that forked it. */
import { NothingDone } from '../keys/requests.js'
import { withDefaults } from '../settings/config.js'
import type { ApiKeyStore } from '../store/api-keys.js'
import { keyResponse } from './key-requests.js'
import { type FromChild, machineMs, type ToChild, type ToTool } from './messages.js'

/**
 * Passes each message from the parent to `take`, with every setting: a setting that a parent of an earlier version does not know
 * gets its default.
 */
export function onParentMessage<Message extends ToChild | ToTool>(
  take: (message: Message, handle: unknown) => void,
): void {
  process.on('message', (message: Message, handle: unknown) => {
    const isStart = message.kind === 'start'
    take(isStart ? { ...message, config: withDefaults(message.config) } : message, handle)
  })
}

/** Does nothing if the parent has exited. */
export function sendToParent(message: FromChild): void {
  if (process.connected) process.send?.(message)
}

/** @param store undefined until it is open */
export async function respondToParent(
  { id, request, untilMs = Infinity }: Extract<ToChild, { readonly kind: 'request' }>,
  store: ApiKeyStore | undefined,
): Promise<void> {
  try {
    // Another process may have responded by now, and the key may have changed again.
    if (machineMs() > untilMs) throw new NothingDone('the request arrived too late')
    if (store === undefined) throw new Error('the store is not open')
    sendToParent({ kind: 'response', id, response: await keyResponse(store, request) })
  } catch (error) {
    const nothingDone = error instanceof NothingDone
    sendToParent({ kind: 'noResponse', id, reason: (error as Error).message, nothingDone })
  }
}
