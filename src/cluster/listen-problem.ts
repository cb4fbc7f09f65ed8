/**
 * Why an address cannot be listened on, in words for the person who chose it.
 */

/** Ports below this are for processes with a capability, unless the system says otherwise (net.ipv4.ip_unprivileged_port_start). */
const unprivilegedPortMin = 1024

/** @param what names the listener, for one that is not the routes' */
export function listenProblem({ code, message }: NodeJS.ErrnoException, host: string, port: number, what = ''): string {
  return `cannot listen on ${host}:${port}${what}: ${reasonOf(code, port) ?? code ?? message}`
}

function reasonOf(code: string | undefined, port: number): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return 'another process listens there (EADDRINUSE)'
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
