/** A child's side of its channel to the process that forked it, and what it owes that process. */
import type { FromChild } from './messages.js'

/** Sends a message to the parent; does nothing when the parent is gone. */
export function sendToParent(message: FromChild): void {
  if (process.connected) process.send?.(message)
}

/**
 * From now on this process, a worker or the writer, lives only as long as its primary, and ignores signals: a terminal sends
 * them to the whole process group, and the primary sends messages.
 *
 * @param isEnding whether the process ends by its own decision; any other exit is turned into a kill, since the next
 *   service may open the store at any moment, and only a kill is sure
 */
export function liveWithPrimary(isEnding: () => boolean): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  const killSelf = (): boolean => process.kill(process.pid, 'SIGKILL')
  process.on('exit', () => isEnding() || killSelf())
  process.on('disconnect', killSelf)
  // While the code was loading, nobody listened for that event.
  if (!process.connected) killSelf()
}
