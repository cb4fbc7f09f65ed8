/** The writer's socket in the data directory, to which workers and tools send what they want written. */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { listenInDirectory, withSocketPath } from './socket-path.js'

const socketName = 'writer.sock'

/** Begins a connection to the writer of `directory`; it may fail, as its `close` event tells. */
export function connectToWriter(directory: string): Socket {
  return withSocketPath(directory, socketName, (path) => connect(path))
}

/** Listens for workers and tools; resolves once they can connect. */
export async function listenForWorkers(directory: string, accept: (socket: Socket) => void): Promise<Server> {
  const server = createServer(accept)
  await listenInDirectory(server, directory, socketName)
  return server
}
