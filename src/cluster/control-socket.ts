/**
 * The control socket in the data directory: how the command line reaches the running service, which alone may open the
 * store. Connections, their bounds, and lines; what a line means is control-protocol.ts's to know.
 *
 * Only the service's account can connect. Even so every connection is bounded, in bytes, in time and in number, up to the end
 * of its request, and in time from its answer on; an answer is as long as it is.
 */
import { closeSync, constants, openSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { answerLine, errorLine } from './control-protocol.js'

/** Room for a path in a unix socket's address (`sun_path`, less its end). */
const socketPathBytesMax = 107

/** The longest request: a key with many subtrees. */
const requestBytesMax = 1024 * 1024

/** A caller sends its request at once. */
const requestMsMax = 5000

/** Connections whose request has not been read yet. */
const waitingMax = 64

/** All connections, those included that are being refused or wait for an answer; beyond it they are closed unheard. */
const connectionsMax = 256

/** How long a caller may take to read why it was refused. */
const refusalMsMax = 1000

/** How long a caller may take to read its answer, some MB at most, and to leave: long enough for a machine that is busy. */
const replyMsMax = 10_000

/** Nobody but the owner may connect. */
const socketUmask = 0o177

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

export interface ControlHandlers {
  /** Gets the first line of each connection, without its end, and the connection, paused. */
  onRequest(line: Uint8Array, socket: Socket): void
  /** A connection was refused before it had sent a request. */
  onRefused(reason: string): void
}

/**
 * Listens for commands; resolves once callers can connect. The caller holds the directory's lock, so a socket file that is
 * there is a dead service's.
 */
export function listenForControl(directory: string, handlers: ControlHandlers): Promise<Server> {
  rmSync(join(directory, 'control.sock'), { force: true })
  let waiting = 0
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    const refused = (reason: string): void => {
      refuse(socket, reason)
      handlers.onRefused(reason)
    }
    if (waiting >= waitingMax) return refused(`more than ${waitingMax} connections wait to send their request`)
    waiting++
    readLineBytes(socket, requestBytesMax, requestMsMax)
      .finally(() => waiting--)
      .then(
        (line) => handlers.onRequest(line, socket),
        (error: Error) => (error instanceof BrokenOff ? socket.destroy() : refused(error.message)),
      )
  })
  server.maxConnections = connectionsMax
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // The file is made by this very call, with a mode that the umask decides.
    const umask = process.umask(socketUmask)
    try {
      withSocketPath(directory, (path) => server.listen(path, () => resolve(server)))
    } finally {
      process.umask(umask)
    }
  })
}

/** Answers a request with one line and closes the connection, whether the caller reads that or not. */
export function reply(socket: Socket, result: unknown): void {
  endWith(socket, answerLine(result), replyMsMax)
}

/** Tells the other side why nothing will be done for it, and closes the connection, whether it reads that or not. */
export function refuse(socket: Socket, reason: string): void {
  endWith(socket, errorLine(reason), refusalMsMax)
}

/** The other side may keep its half open, and its connection with it, for `msMax`. */
function endWith(socket: Socket, line: string, msMax: number): void {
  // What it still sends is read: closed over unread bytes, the connection would be reset.
  socket.resume()
  socket.end(`${line}\n`)
  const timer = setTimeout(() => socket.destroy(), msMax).unref()
  socket.once('close', () => clearTimeout(timer))
}

/** How a connection fails where no service runs: there is no directory, no socket, or nobody at the socket of a dead one. */
const absentCodes: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ECONNREFUSED']

/**
 * A connection to the service that uses `directory`, or undefined when none does. One that breaks later just closes: whatever
 * waits for a line learns it from that.
 *
 * @throws Error when there may be one, but it cannot be reached
 */
export async function connectToControl(directory: string): Promise<Socket | undefined> {
  try {
    return await new Promise<Socket>((resolve, reject) => {
      withSocketPath(directory, (path) => {
        const socket = connect(path)
        // The listener stays: unheard, a later error would end the process.
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

/** The connection ended within a line. */
class BrokenOff extends Error {}

/**
 * The next line, however long, without its end; the socket is paused afterwards, with everything that follows still in it.
 *
 * @throws Error when the connection ends before
 */
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
