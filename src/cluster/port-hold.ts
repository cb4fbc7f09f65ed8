/**
 * The right to a port, for as long as a service lives. Workers share the port among themselves (SO_REUSEPORT), so the kernel
 * would let another service of the same account share it too, and give it half of the connections.
 *
 * An exclusive bind shows that nobody listens now, but it has to end before the workers can bind. So the UDP port of the same
 * number is held beside it, and never used: it collides just where the other would, wildcard addresses included, takes the
 * same privilege, and is given back by the kernel however the process dies.
 *
 *     bind the port exclusively → take the UDP port → give up the bind; the workers may bind from now on
 */
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** A port that is ours until the process ends. */
export interface PortHold {
  /** A real one, even if 0 was asked for. */
  readonly port: number
}

/** The UDP port is taken: by another topicd that is starting, or by something else. */
export class PortHeld extends Error {
  readonly code = 'EADDRINUSE'
}

/**
 * Where a port is looked for when any will do. Linux gives 32768 to 60999 to outgoing connections (ip_local_port_range), so that
 * one of those could be gone again between our bind and that of the workers.
 */
const anyPortMin = 61_000
const anyPortMax = 65_535

/** How many ports are tried where any will do: some may be taken, for UDP alone too. */
const anyPortTriesMax = 20

/**
 * Takes the port.
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
