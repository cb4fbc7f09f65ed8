/**
 * Why the service cannot listen on an address, in words for the user who chose it.
 */
import { exitCodes } from '../base/exit-codes.js'
import { PortHeld } from './port-hold.js'

/**
 * Ports below this are for processes with a capability, unless the system says otherwise
 * (net.ipv4.ip_unprivileged_port_start).
 */
const unprivilegedPortMin = 1024

/** The exit code for an address that cannot be listened on. */
export function listenExitCode({ code }: NodeJS.ErrnoException): number {
  return code === 'EADDRINUSE' ? exitCodes.portInUse : exitCodes.listenFailed
}

/**
 * Why an address cannot be listened on, in one sentence.
 *
 * @param what names the listener; empty for that of the routes
 */
export function listenProblem(error: NodeJS.ErrnoException, host: string, port: number, what = ''): string {
  return `cannot listen on ${bracketed(host)}:${port}${what}: ${reasonOf(error, port) ?? error.code ?? error.message}`
}

/** A host as it is written before a port. */
export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function reasonOf(error: NodeJS.ErrnoException, port: number): string | undefined {
  const { code } = error
  if (error instanceof PortHeld)
    return `${error.message}, which topicd also reserves so that no second service shares its port (${code})`
  switch (code) {
    case 'EADDRINUSE':
      return 'another process is listening there (EADDRINUSE)'
    case 'EADDRNOTAVAIL':
      return 'this machine does not have that address (EADDRNOTAVAIL)'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host name cannot be resolved (${code})`
    case 'EACCES':
      if (port >= unprivilegedPortMin) return undefined
      return `a port below ${unprivilegedPortMin} needs the capability CAP_NET_BIND_SERVICE (EACCES)`
    default:
      return undefined
  }
}
