/** Notifications to systemd through systemd-notify, because Node has no Unix datagram sockets. Without systemd, none are sent. */
import { spawn } from 'node:child_process'

let last: Promise<void> = Promise.resolve()

/** Resolves when systemd-notify, a child process (hence NotifyAccess=all), has exited, even if it failed. Calls are sent in order. */
export function notify(...states: readonly string[]): Promise<void> {
  if (process.env.NOTIFY_SOCKET === undefined) return last
  last = last.then(
    () =>
      new Promise((resolve) => {
        try {
          const sender = spawn('systemd-notify', [`--pid=${process.pid}`, ...states], { stdio: 'ignore' })
          sender.on('error', () => resolve()).on('exit', () => resolve())
        } catch {
          // For example, out of memory; the next notification may succeed.
          resolve()
        }
      }),
  )
  return last
}

/** The maximum interval between WATCHDOG=1 notifications, in ms; undefined if systemd expects none. */
export function watchdogMs(): number | undefined {
  const microseconds = Number(process.env.WATCHDOG_USEC)
  return microseconds > 0 ? microseconds / 1000 : undefined
}
