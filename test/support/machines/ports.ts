/**
 * Free ports, for programs that must be given one.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * The range to search: below the ports that Linux gives to outgoing connections (32768 to 60999), one of which could be
 * taken again before the program binds it, and apart from those that a service takes for port 0 (61000 and up).
 */
const portMin = 20_000
const portMax = 32_767

/** Distinct ports of 127.0.0.1 on which nothing listens. Each is kept open until all are found. */
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
