/**
 * The control socket in the data directory, through which the command line and workers reach the primary: connections, their
 * limits, and lines. protocol.ts defines the meaning of the lines.
 *
 * Only the service's account can connect. Even so, connections are limited in bytes, time and number until their request is
 * complete, and in time once the response is sent. The length of a response is not limited.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { listenInDirectory, withSocketPath } from './directory-sockets.js'
import type { ControlRequest, ResponseLine } from './messages.js'
import { errorLine, requestLine, responseLine } from './protocol.js'

const socketName = 'control.sock'

/** Enough for the longest request: a key with many subtrees. */
const requestBytesMax = 1024 * 1024

/** Callers send their request immediately after connecting. */
const requestMsMax = 5000

/** Maximum connections whose request has not been read yet. */
const waitingMax = 64

/** Maximum connections, including rejected ones and ones that wait for a response; more are closed immediately. */
const connectionsMax = 256

/** Time for a caller to read an error line. */
const refusalMsMax = 1000

/** Time for a caller to read a response of at most a few MB and to close: enough even on a busy machine. */
const responseMsMax = 10_000

/** Time that a service may stay silent before it responds or starts a tool: longer than its own deadlines. */
const silentMsMax = 60_000

export interface ControlHandlers {
  /** Receives the first line of each connection, without its newline, and the paused connection. */
  onRequest(line: Uint8Array, socket: Socket): void
  /** Called if a connection was rejected before it had sent a complete request. */
  onRefused(reason: string): void
}

/** Resolves once callers can connect. This process must hold the directory's lock. */
export async function listenForControl(directory: string, handlers: ControlHandlers): Promise<Server> {
  let waiting = 0
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    const refused = (reason: Error): void => {
      refuse(socket, reason)
      handlers.onRefused(reason.message)
    }
    if (waiting >= waitingMax)
      return refused(new Error(`more than ${waitingMax} connections have not sent their request yet`))
    waiting++
    readLineBytes(socket, requestBytesMax, requestMsMax)
      .finally(() => waiting--)
      .then(
        (line) => handlers.onRequest(line, socket),
        (error: Error) => (error instanceof BrokenOff ? socket.destroy() : refused(error)),
      )
  })
  server.maxConnections = connectionsMax
  await listenInDirectory(server, directory, socketName)
  return server
}

/** Responds with one line and closes the connection, even if the caller does not read it. */
export function respond(socket: Socket, line: ResponseLine): void {
  endWith(socket, responseLine(line), responseMsMax)
}

/** Rejects a request with one line and closes the connection, even if the caller does not read it. */
export function refuse(socket: Socket, reason: Error): void {
  endWith(socket, errorLine(reason), refusalMsMax)
}

/** The caller may keep the connection half open for `msMax`. */
function endWith(socket: Socket, line: string, msMax: number): void {
  // Read the caller's remaining bytes: closing with unread bytes would reset the connection.
  socket.resume()
  socket.end(`${line}\n`)
  const timer = setTimeout(() => socket.destroy(), msMax).unref()
  socket.once('close', () => clearTimeout(timer))
}

/**
 * Error codes that mean that no service runs: no directory, no socket, the socket of a dead service, or a service that died before
 * it accepted the connection.
 */
const absentCodes: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ECONNREFUSED', 'ECONNRESET']

/**
 * Undefined if no service uses the directory. If the connection breaks later, it just closes, which fails pending reads.
 *
 * @throws Error if a service may be running but cannot be reached
 */
export async function connectToControl(directory: string): Promise<Socket | undefined> {
  try {
    return await new Promise<Socket>((resolve, reject) => {
      withSocketPath(directory, socketName, (path) => {
        const socket = connect(path)
        // The listener stays: without it, a later error would crash the process.
        socket.on('error', reject).once('connect', () => resolve(socket))
      })
    })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (absentCodes.includes(code)) return undefined
    throw new Error(
      `the service that uses ${directory} cannot be reached (${code}); run this command as the service's account`,
      {
        cause: error,
      },
    )
  }
}

/** Sends a request to the service and closes the connection after the response. @param name for the error @returns the response line */
export async function exchange(service: Socket, name: string, request: ControlRequest): Promise<string> {
  boundSilence(service)
  service.write(`${requestLine(request)}\n`)
  const line = await readLine(service).catch(() => {
    throw new Error(`${name} did not respond`)
  })
  service.destroy()
  return line
}

/** Closes the connection if the service is silent for too long: it may hang or have been suspended. */
export function boundSilence(service: Socket): void {
  service.setTimeout(silentMsMax, () => service.destroy())
}

/** The connection closed before a complete line had arrived. */
class BrokenOff extends Error {}

/** Reads a line of any length, then pauses the socket, which keeps the rest. @throws Error if the connection closes */
export async function readLine(socket: Socket): Promise<string> {
  return (await readLineBytes(socket, Infinity, undefined)).toString()
}

function readLineBytes(socket: Socket, bytesMax: number, msMax: number | undefined): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const timer =
      msMax === undefined
        ? undefined
        : setTimeout(() => fail(new Error(`no complete request arrived within ${msMax} ms`)), msMax)
    function settle(): void {
      clearTimeout(timer)
      socket.off('readable', read)
      socket.off('end', breakOff)
      socket.off('close', breakOff)
    }
    function fail(error: Error): void {
      settle()
      reject(error)
    }
    const breakOff = (): void => fail(new BrokenOff('the connection closed before a complete line arrived'))
    function read(): void {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
        const end = chunk.indexOf(0x0a)
        const part = end < 0 ? chunk : chunk.subarray(0, end)
        chunks.push(part)
        bytes += part.length
        if (bytes > bytesMax) return fail(new Error(`the request is longer than ${bytesMax} bytes`))
        if (end < 0) continue
        settle()
        if (end + 1 < chunk.length) socket.unshift(chunk.subarray(end + 1))
        return resolve(Buffer.concat(chunks))
      }
    }
    socket.on('readable', read)
    socket.once('end', breakOff)
    socket.once('close', breakOff)
  })
}
