/**
 * Reserves a port for the life of a service. Workers share the port among themselves (SO_REUSEPORT), so the kernel
 * would let another service of the same account share it too, and give it half of the connections.
 *
 * An exclusive bind proves that no other process listens now, but it must end before the workers can bind. So the UDP
 * port of the same number is held as well, and never used: it collides in the same cases, wildcard addresses included,
 * needs the same privilege, and is released by the kernel however the process dies.
 *
 *     bind the port exclusively → bind the UDP port → close the first; the workers may bind from now on
 */
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** A port that is reserved until the process ends. */
interface PortHold {
  /** The real one, even if 0 was requested. */
  readonly port: number
}

/** The UDP port is taken: by another topicd that is starting, or by something else. */
export class PortHeld extends Error {
  readonly code = 'EADDRINUSE'
}

/**
 * The range that is searched if any port will do. Linux uses 32768 to 60999 for outgoing connections
 * (ip_local_port_range), so one of those could be taken between our bind and that of the workers.
 */
const anyPortMin = 61_000
const anyPortMax = 65_535

/** How many ports are tried if any will do: some may be taken, perhaps for UDP alone. */
const anyPortTriesMax = 20

/**
 * Reserves the port; with 0, a free one.
 *
 * @throws PortHeld when its UDP port is taken; otherwise the Error of the failed bind, with its `code`
 */
export async function holdPort(host: string, port: number): Promise<PortHold> {
  if (port !== 0) return holdOnce(host, port)
  for (let tries = 1; ; tries++) {
    try {
      return await holdOnce(host, randomInt(anyPortMin, anyPortMax + 1))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || tries === anyPortTriesMax) throw error
    }
  }
}

async function holdOnce(host: string, port: number): Promise<PortHold> {
  const probe = createServer()
  probe.listen({ host, port, exclusive: true })
  await once(probe, 'listening')
  try {
    const { address, family, port: bound } = probe.address() as AddressInfo
    await holdUdp(family === 'IPv6' ? 'udp6' : 'udp4', address, bound)
    return { port: bound }
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
    throw new PortHeld(`the UDP port ${port} is taken`, { cause: error })
  }
}
