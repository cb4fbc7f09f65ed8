/** Where the console's other page is: on another listener of the same service, which reports its address. */
import type { ConsoleState } from '../../ops/figures/console-state.js'

/** Its path begins with a slash. */
type Listener = NonNullable<ConsoleState['topicsPage']>

/** Undefined if it listens only for its own machine and this page is from another. @param ownHost location.hostname */
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
