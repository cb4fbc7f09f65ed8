/** Notifications to systemd, through systemd-notify: Node has no unix datagram sockets. Without systemd, none. */
import { spawn } from 'node:child_process'

let last: Promise<void> = Promise.resolve()

/** Resolves when systemd has the states, in the order of calls. The sender is a child, hence NotifyAccess=all. */
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
