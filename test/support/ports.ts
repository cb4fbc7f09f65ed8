/**
 * Ports that nobody uses, for programs that have to be told one.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * Where ports are looked for: below those that Linux gives to outgoing connections (32768 to 60999), one of which could be
 * gone again before the program binds it, and apart from those that a service takes when told 0 (61000 and up).
 */
const portMin = 20_000
const portMax = 32_767

/** Ports of 127.0.0.1 that nobody listens on; all are held until each is known, so that they differ. */
export async function freePorts(count: number): Promise<number[]> {
  const held = new Map<number, Server>()
  while (held.size < count) {
    const port = randomInt(portMin, portMax + 1)
    const server = createServer().listen({ host: '127.0.0.1', port, exclusive: true })
    await once(server, 'listening').then(
      () => held.set(port, server),
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EADDRINUSE') throw error
      },
    )
  }
  await Promise.all([...held.values()].map((server) => once(server.close(), 'close')))
  return [...held.keys()]
}
