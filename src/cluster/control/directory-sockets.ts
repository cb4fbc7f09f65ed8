/** Sockets in the data directory, and who may connect: the writer's is here, that of commands in socket.ts. */
import { closeSync, constants, openSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'

/** The longest path in a unix socket's address (`sun_path`, without its terminator). */
const socketPathBytesMax = 107

/** Only the owner may connect. */
const socketUmask = 0o177

/**
 * Calls `use` with a path that fits into a socket address: if the plain path is too long, one through a descriptor of
 * the directory. The path is valid only in this turn of the event loop.
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

/** Resolves when others can connect. The caller alone may use the name: an existing file is a dead process's. */
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

/** Begins a connection to the writer of `directory`; it may fail, as its `close` event tells. */
export function connectToWriter(directory: string): Socket {
  return withSocketPath(directory, writerSocket, (path) => connect(path))
}

/** Listens for workers and tools; resolves once they can connect. */
export async function listenForWorkers(directory: string, accept: (socket: Socket) => void): Promise<Server> {
  const server = createServer(accept)
  await listenInDirectory(server, directory, writerSocket)
  return server
}
