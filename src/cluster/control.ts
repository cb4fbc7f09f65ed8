/**
 * The control socket in the data directory: how the command line reaches the running service, which alone may open the
 * store. One line of JSON asks; lines answer. The first answer is `{"ready":…}`; what follows depends on the command.
 */
import { closeSync, constants, existsSync, openSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'

/** Room for a path in a unix socket's address (`sun_path`, less its end). */
const socketPathBytesMax = 107

/** The longest first line: a key with many subtrees. */
const requestBytesMax = 1024 * 1024

/**
 * Calls `use` with a path that reaches the socket of `directory` and fits an address: where the plain one is too long, one
 * through a descriptor of the directory.
 */
function withSocketPath<T>(directory: string, use: (path: string) => T): T {
  const plain = join(directory, 'control.sock')
  if (Buffer.byteLength(plain) <= socketPathBytesMax) return use(plain)
  const descriptor = openSync(directory, constants.O_DIRECTORY)
  try {
    return use(`/proc/self/fd/${descriptor}/control.sock`)
  } finally {
    setImmediate(() => closeSync(descriptor))
  }
}

/**
 * Listens for commands. The caller holds the directory's lock, so a socket file that is there is a dead service's.
 *
 * @param onRequest gets the first line of each connection, and the connection, paused
 */
export function listenForControl(directory: string, onRequest: (request: unknown, socket: Socket) => void): Promise<Server> {
  rmSync(join(directory, 'control.sock'), { force: true })
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    readLine(socket)
      .then((line) => onRequest(JSON.parse(line), socket))
      .catch(() => socket.destroy())
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    withSocketPath(directory, (path) => server.listen(path, () => resolve(server)))
  })
}

/** A connection to the service that uses `directory`, or undefined when none does. */
export function connectToControl(directory: string): Promise<Socket | undefined> {
  if (!existsSync(directory)) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    withSocketPath(directory, (path) => {
      const socket = connect(path)
      socket.once('connect', () => resolve(socket))
      socket.once('error', () => resolve(undefined))
    })
  })
}

/** The next line, without its end; the socket is paused afterwards, with everything that follows still in it. */
export function readLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = Buffer.alloc(0)
    function settle(): void {
      socket.off('readable', read)
      socket.off('end', fail)
      socket.off('close', fail)
    }
    function fail(): void {
      settle()
      reject(new Error('the connection ended before a whole line came'))
    }
    function read(): void {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
        const end = chunk.indexOf(0x0a)
        if (end < 0) {
          text = Buffer.concat([text, chunk])
          if (text.length > requestBytesMax) return fail()
          continue
        }
        settle()
        if (end + 1 < chunk.length) socket.unshift(chunk.subarray(end + 1))
        return resolve(Buffer.concat([text, chunk.subarray(0, end)]).toString())
      }
    }
    socket.on('readable', read)
    socket.once('end', fail)
    socket.once('close', fail)
  })
}
