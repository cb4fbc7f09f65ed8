/**
 * The right to a port, for as long as a service lives. Workers share the port among themselves (SO_REUSEPORT), so the kernel
 * would let another service of the same user share it too, and give it half of the connections.
 *
 * An exclusive bind shows that nobody listens now, but it has to end before the workers can bind. So a name is held beside
 * it: an abstract unix socket `topicd-port:PORT:ADDRESS`, which lives in the same network namespace as the port, belongs to
 * one process at a time, and is gone with that process however it dies.
 *
 *     bind the port exclusively → take the name → give up the bind; the workers may bind from now on
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net'

/** A port that is ours until the process ends. */
export interface PortHold {
  /** A real one, even if 0 was asked for. */
  readonly port: number
}

/** Addresses that stand for every address of the machine: they collide with any other on the same port. */
const wildcards: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

/**
 * Takes the port.
 *
 * @throws Error with the `code` of the failed bind; EADDRINUSE also when another topicd holds the port
 */
export async function holdPort(host: string, port: number): Promise<PortHold> {
  const probe = await listen({ host, port, exclusive: true })
  try {
    const { address, port: bound } = probe.address() as AddressInfo
    await holdName(bound, address)
    return { port: bound }
  } finally {
    probe.close()
    await once(probe, 'close')
  }
}

async function holdName(port: number, address: string): Promise<void> {
  const prefix = `topicd-port:${port}:`
  const holder = await listen({ path: `\0${prefix}${address}` })
  holder.unref()
  holder.on('connection', (socket) => socket.destroy())
  const others = heldNames(prefix).filter((other) => other !== address)
  if (others.length === 0 || (!wildcards.has(address) && !others.some((other) => wildcards.has(other)))) return
  holder.close()
  throw Object.assign(new Error(`another topicd holds port ${port} at ${others[0]}`), { code: 'EADDRINUSE' })
}

/** What follows `prefix` in the abstract names of this network namespace; Node fills a name up with zero bytes, shown as `@`. */
function heldNames(prefix: string): string[] {
  return readFileSync('/proc/net/unix', 'latin1')
    .split('\n')
    .map((line) => line.slice(line.indexOf('@') + 1))
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length).replace(/@+$/, ''))
}

async function listen(options: ListenOptions): Promise<Server> {
  const server = createServer()
  server.listen(options)
  await once(server, 'listening')
  return server
}
