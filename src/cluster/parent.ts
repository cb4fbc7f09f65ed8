/** A child's side of its channel to the process that forked it. */
import type { FromChild } from './messages.js'

/** Sends a message to the parent; does nothing when the parent is gone. */
export function sendToParent(message: FromChild): void {
  if (process.connected) process.send?.(message)
}
