/**
 * Notifications to systemd: through the program systemd-notify, since Node has no unix datagram sockets. Without
 * systemd (no NOTIFY_SOCKET) nothing is done.
 */
import { spawn } from 'node:child_process'

let last: Promise<void> = Promise.resolve()

/**
 * Sends states, such as READY=1, in the order of the calls; resolves when systemd has them. The unit has
 * NotifyAccess=all, since the sender is a child.
 */
export function notify(...states: readonly string[]): Promise<void> {
  if (process.env.NOTIFY_SOCKET === undefined) return last
  last = last.then(
    () =>
      new Promise((resolve) => {
        try {
          const sender = spawn('systemd-notify', [`--pid=${process.pid}`, ...states], { stdio: 'ignore' })
          sender.on('error', () => resolve()).on('exit', () => resolve())
        } catch {
          // Out of memory, for instance; the next notification may succeed.
          resolve()
        }
      }),
  )
  return last
}

/** How soon systemd expects each WATCHDOG=1 after the last, in ms; undefined if it expects none. */
export function watchdogMs(): number | undefined {
  const microseconds = Number(process.env.WATCHDOG_USEC)
  return microseconds > 0 ? microseconds / 1000 : undefined
}
