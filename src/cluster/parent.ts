/** A child's messages from and to the process that forked it. */
import { NothingDone } from '../keys/requests.js'
import { withDefaults } from '../settings/config.js'
import type { ApiKeyStore } from '../store/api-keys.js'
import { keyResponse } from './key-requests.js'
import { type FromChild, machineMs, type ToChild, type ToTool } from './messages.js'

/**
 * From now on `take` gets each message of the parent, with every setting: one that a parent of an earlier version does not
 * know has its default.
 */
export function onParentMessage<Message extends ToChild | ToTool>(
  take: (message: Message, handle: unknown) => void,
): void {
  process.on('message', (message: Message, handle: unknown) => {
    const isStart = message.kind === 'start'
    take(isStart ? { ...message, config: withDefaults(message.config) } : message, handle)
  })
}

/** Does nothing when the parent is gone. */
export function sendToParent(message: FromChild): void {
  if (process.connected) process.send?.(message)
}

/** @param store undefined until it is open */
export async function respondToParent(
  { id, request, untilMs = Infinity }: Extract<ToChild, { readonly kind: 'request' }>,
  store: ApiKeyStore | undefined,
): Promise<void> {
  try {
    // The key may have been changed again since another process responded.
    if (machineMs() > untilMs) throw new NothingDone('the request came too late')
    if (store === undefined) throw new Error('the store is not open')
    sendToParent({ kind: 'response', id, response: await keyResponse(store, request) })
  } catch (error) {
    const nothingDone = error instanceof NothingDone
    sendToParent({ kind: 'noResponse', id, reason: (error as Error).message, nothingDone })
  }
}
