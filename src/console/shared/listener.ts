/** The URL of the console's other page, which another listener of the same service provides. */
import type { ConsoleState } from '../../ops/figures/console-state.js'

/** A listener's address; the path starts with a slash. */
type Listener = NonNullable<ConsoleState['topicsPage']>

/** Undefined if the listener is local to its machine and this page is from another machine. @param ownHost location.hostname */
export function urlOf({ scheme, host, port, path }: Listener, ownHost: string): string | undefined {
  if (isLoopback(host) && !isLoopback(ownHost)) return undefined
  return `${scheme}://${isEveryAddress(host) ? ownHost : bracketed(host)}:${port}${path}`
}

function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** @param host with or without brackets */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host.replace(/[[\]]/g, '') === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
