/** Sockets in the data directory and their permissions. The writer's socket is here; the commands' socket is in socket.ts. */
import { closeSync, constants, openSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'

/** Maximum length of the path in a Unix socket address (`sun_path`, without its terminator). */
const socketPathBytesMax = 107

/** Only the owner may connect. */
const socketUmask = 0o177

/**
 * Calls `use` with a path that fits in a socket address: the plain path or, if it is too long, one through the directory's descriptor.
 * The path is valid only in this turn of the event loop.
 */
export function withSocketPath<T>(directory: string, name: string, use: (path: string) => T): T {
  const plain = join(directory, name)
  if (Buffer.byteLength(plain) <= socketPathBytesMax) return use(plain)
  const descriptor = openSync(directory, constants.O_DIRECTORY)
  try {
    return use(`/proc/self/fd/${descriptor}/${name}`)
  } finally {
    setImmediate(() => closeSync(descriptor))
  }
}

/** Resolves when clients can connect. The caller must be the name's only user, so an existing file belongs to a dead process. */
export function listenInDirectory(server: Server, directory: string, name: string): Promise<void> {
  rmSync(join(directory, name), { force: true })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // `listen` creates the file before it returns, with a mode that depends on the umask.
    const umask = process.umask(socketUmask)
    try {
      withSocketPath(directory, name, (path) => server.listen(path, resolve))
    } finally {
      process.umask(umask)
    }
  })
}

const writerSocket = 'writer.sock'

/** Starts to connect to the writer of `directory`. If that fails, the socket emits `close`. */
export function connectToWriter(directory: string): Socket {
  return withSocketPath(directory, writerSocket, (path) => connect(path))
}

/** Listens for workers and tools; resolves once they can connect. */
export async function listenForWorkers(directory: string, accept: (socket: Socket) => void): Promise<Server> {
  const server = createServer(accept)
  await listenInDirectory(server, directory, writerSocket)
  return server
}
