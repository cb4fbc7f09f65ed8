/**
 * Free ports, for programs that cannot choose their own.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * The range to search. It is below the ports that Linux assigns to outgoing connections (32768 to 60999), one of which could be taken
 * before the program binds it. It is also outside the range from which a service takes a port if it is given port 0 (61000 and up).
 */
const portMin = 20_000
const portMax = 32_767

/** Distinct ports of 127.0.0.1 on which no process listens. Each is held until all are found. */
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
