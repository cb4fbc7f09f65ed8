/**
 * What systemd is told: through systemd-notify, since Node has no datagram sockets of the unix kind. Without systemd
 * (no NOTIFY_SOCKET) nothing is done.
 */
import { spawn } from 'node:child_process'

/** Sends a state, such as READY=1; the unit has NotifyAccess=all, since the sender is a child. */
export function notify(...states: readonly string[]): void {
  if (process.env.NOTIFY_SOCKET === undefined) return
  spawn('systemd-notify', [`--pid=${process.pid}`, ...states], { stdio: 'ignore' }).on('error', () => {})
}

/** How often systemd wants to hear from us, in ms; undefined when it does not. */
export function watchdogMs(): number | undefined {
  const microseconds = Number(process.env.WATCHDOG_USEC)
  return microseconds > 0 ? microseconds / 1000 : undefined
}
