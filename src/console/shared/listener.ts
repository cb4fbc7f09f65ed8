/** Where the console's other page is: on another listener of the same service, whose address the service tells. */

/** As the service listens there. */
export interface Listener {
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly port: number
  /** With a slash at the beginning. */
  readonly path: string
}

/**
 * The URL by which this browser should reach it.
 *
 * @param ownHost that of this page, as a location has it
 * @returns undefined where it listens only for the service's own machine, and this page came from elsewhere
 */
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
