/** A child's side of its channel to the process that forked it, and what it owes that process. */
import { version } from '../base/version.js'
import type { ApiKeyStore } from '../store/api-keys.js'
import { NothingDone } from './control/nothing-done.js'
import { keyResponse } from './key-requests.js'
import { type FromChild, machineMs, type ToChild } from './messages.js'

const heartbeatMs = 1000

/** The life of a worker or the writer, as its process needs it. */
interface Life {
  /** Whether the process ends by its own decision, so that its exit needs no kill. */
  readonly isEnding: boolean
  sendHeartbeat(): void
}

/** Sends a message to the parent; does nothing when the parent is gone. */
export function sendToParent(message: FromChild): void {
  if (process.connected) process.send?.(message)
}

/** Sends the response to a request about API keys, or why there is none. @param store undefined until it is open */
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

/**
 * From now on this process, a worker or the writer, takes its primary's messages and sends it heartbeats, lives only as
 * long as it, and ignores signals: a terminal sends them to the whole process group, and the primary sends messages. Any
 * exit that is not the process's own decision is turned into a kill, since the next service may open the store at any
 * moment, and only a kill is sure. Its first message is that it has loaded.
 */
export function liveWithPrimary(life: Life, take: (message: ToChild) => void): void {
  process.on('message', take)
  setInterval(() => life.sendHeartbeat(), heartbeatMs)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  const killSelf = (): boolean => process.kill(process.pid, 'SIGKILL')
  process.on('exit', () => life.isEnding || killSelf())
  process.on('disconnect', killSelf)
  // While the code was loading, nobody listened for that event.
  if (!process.connected) killSelf()
  sendToParent({ kind: 'loaded', version })
}
