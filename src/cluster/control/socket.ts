/**
 * The control socket in the data directory: how the command line and workers reach the primary. Here are connections, their limits, and lines; what a line means is defined in protocol.ts.
 *
 * Only the service's account can connect. Even so, connections are limited in bytes, time and number until their
 * request is complete, and in time from their response on; the length of a response is not limited.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { listenInDirectory, withSocketPath } from './directory-sockets.js'
import type { ControlRequest, ResponseLine } from './messages.js'
import { errorLine, requestLine, responseLine } from './protocol.js'

const socketName = 'control.sock'

/** Enough for the longest request, a key with many subtrees. */
const requestBytesMax = 1024 * 1024

/** A caller sends its request at once. */
const requestMsMax = 5000

/** Connections whose request has not been read yet. */
const waitingMax = 64

/** All connections, including those that are being refused or wait for a response; further ones are closed at once. */
const connectionsMax = 256

/** How long a caller may take to read a refusal. */
const refusalMsMax = 1000

/** How long a caller may take to read a response, a few MB at most, and to close: enough even on a busy machine. */
const responseMsMax = 10_000

/** A service may send nothing for so long before it responds or starts a tool: longer than its own deadlines. */
const silentMsMax = 60_000

export interface ControlHandlers {
  /** Receives the first line of each connection, without its end, and the connection, paused. */
  onRequest(line: Uint8Array, socket: Socket): void
  /** A connection was refused before it had sent a whole request. */
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
      return refused(new Error(`more than ${waitingMax} connections wait to send their request`))
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

/** Refuses a request with one line and closes the connection, even if the caller does not read it. */
export function refuse(socket: Socket, reason: Error): void {
  endWith(socket, errorLine(reason), refusalMsMax)
}

/** The caller may keep the connection half open for `msMax`. */
function endWith(socket: Socket, line: string, msMax: number): void {
  // What it still sends is read: closing with unread bytes would reset the connection.
  socket.resume()
  socket.end(`${line}\n`)
  const timer = setTimeout(() => socket.destroy(), msMax).unref()
  socket.once('close', () => clearTimeout(timer))
}

/** While no service runs: no directory, no socket, a dead service's socket, or it died before it accepted. */
const absentCodes: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ECONNREFUSED', 'ECONNRESET']

/**
 * Undefined if no service uses the directory. A connection that breaks later just closes, which ends waits for a line.
 *
 * @throws Error when a service may be running, but cannot be reached
 */
export async function connectToControl(directory: string): Promise<Socket | undefined> {
  try {
    return await new Promise<Socket>((resolve, reject) => {
      withSocketPath(directory, socketName, (path) => {
        const socket = connect(path)
        // The listener stays: without one, a later error would end the process.
        socket.on('error', reject).once('connect', () => resolve(socket))
      })
    })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (absentCodes.includes(code)) return undefined
    throw new Error(`the service that uses ${directory} cannot be reached (${code}); run the command as its account`, {
      cause: error,
    })
  }
}

/** Sends a request to the service, and closes the connection. @param name for the error @returns the line that responds to it */
export async function exchange(service: Socket, name: string, request: ControlRequest): Promise<string> {
  boundSilence(service)
  service.write(`${requestLine(request)}\n`)
  const line = await readLine(service).catch(() => {
    throw new Error(`${name} did not respond`)
  })
  service.destroy()
  return line
}

/** Closes the connection to a service that sends nothing for too long: it hangs, or was suspended. */
export function boundSilence(service: Socket): void {
  service.setTimeout(silentMsMax, () => service.destroy())
}

/** The connection ended before a whole line had come. */
class BrokenOff extends Error {}

/** Reads a line of any length; then pauses the socket, which keeps the rest. @throws Error when the connection ends */
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
        : setTimeout(() => fail(new Error(`no whole request came within ${msMax} ms`)), msMax)
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
    const breakOff = (): void => fail(new BrokenOff('the connection ended before a whole line came'))
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
