/**
 * Listening: reserves a port for the lifetime of a service, and explains to the user why the service cannot listen on an
 * address. Workers share the port (SO_REUSEPORT), so the kernel would also let another service of the same account share
 * it and receive half of the connections.
 *
 * An exclusive bind proves that no other process is listening, but its socket must be closed before the workers can bind. Therefore the UDP
 * port with the same number is also bound, and never used: it collides in the same cases, including wildcard addresses, and needs
 * the same privilege. The kernel releases it even if the process crashes.
 *
 *     bind the port exclusively → bind the UDP port → close the first; the workers may now bind
 */
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { exitCodes } from '../base/exit-codes.js'

/** The UDP port is taken, by another topicd that is starting or by another program. */
class PortHeld extends Error {
  readonly code = 'EADDRINUSE'
}

/**
 * The range that is searched if any port will do. Linux uses 32768 to 60999 for outgoing connections
 * (ip_local_port_range), so a port in that range could be taken between our bind and the workers' bind.
 */
const anyPortMin = 61_000
const anyPortMax = 65_535

/** Maximum number of ports tried if any will do: some may be taken, perhaps only for UDP. */
const anyPortTriesMax = 20

/** @returns the actual port @throws PortHeld if its UDP port is taken, or the Error of the failed bind, with `code` */
export async function holdPort(host: string, port: number): Promise<number> {
  if (port !== 0) return holdOnce(host, port)
  for (let tries = 1; ; tries++) {
    try {
      return await holdOnce(host, randomInt(anyPortMin, anyPortMax + 1))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || tries === anyPortTriesMax) throw error
    }
  }
}

async function holdOnce(host: string, port: number): Promise<number> {
  const probe = createServer()
  probe.listen({ host, port, exclusive: true })
  await once(probe, 'listening')
  try {
    const { address, family, port: bound } = probe.address() as AddressInfo
    await holdUdp(family === 'IPv6' ? 'udp6' : 'udp4', address, bound)
    return bound
  } finally {
    probe.close()
    await once(probe, 'close')
  }
}

async function holdUdp(type: 'udp4' | 'udp6', address: string, port: number): Promise<void> {
  const holder = createSocket(type)
  holder.unref()
  try {
    holder.bind({ address, port, exclusive: true })
    await once(holder, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new PortHeld(`the UDP port ${port} is in use`, { cause: error })
  }
}

/** Lower ports need a capability, unless net.ipv4.ip_unprivileged_port_start allows them. */
const unprivilegedPortMin = 1024

export function listenExitCode({ code }: NodeJS.ErrnoException): number {
  return code === 'EADDRINUSE' ? exitCodes.portInUse : exitCodes.listenFailed
}

/** One sentence. @param what names the listener; empty for the routes' listener */
export function listenProblem(error: NodeJS.ErrnoException, host: string, port: number, what = ''): string {
  return `cannot listen on ${bracketed(host)}:${port}${what}: ${reasonOf(error, port) ?? error.code ?? error.message}`
}

/** A host in the form used before a port: IPv6 addresses get brackets. */
export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function reasonOf(error: NodeJS.ErrnoException, port: number): string | undefined {
  const { code } = error
  if (error instanceof PortHeld)
    return `${error.message}; topicd also reserves it, so that no second service can share the TCP port (${code})`
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
