/**
 * A command's access to a store. While a service is running on an LMDB store, no other process may open that store, so the
 * service does the work. Otherwise a child process does it: for LMDB, under the directory's lock and as the directory's owner. The
 * protocol is the same. The command never opens the store itself, so it survives damaged files that crash the process
 * reading them.
 */
import { existsSync, lstatSync, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { exitCodes } from '../../base/exit-codes.js'
import { complain, fatal } from '../../base/stderr.js'
import type { ResponseLine, Responses } from '../../cluster/control/messages.js'
import { endLine, failureIn, parseResponse, readyLine, requestLine } from '../../cluster/control/protocol.js'
import { boundSilence, connectToControl, exchange } from '../../cluster/control/socket.js'
import { type DirectoryLock, lockDirectory } from '../../cluster/directory-lock.js'
import { NothingDone, type SendKeyRequest } from '../../keys/requests.js'
import { isExclusive } from '../../settings/address.js'
import { type Config, type GivenSettings, readConfig } from '../../settings/config.js'
import { importLineBytesMax } from '../../settings/limits.js'
import { dataFile, stagingDirectory } from '../../store/lmdb/environment/files.js'
import { splitLines } from '../../tools/lines.js'
import type { ToolWork } from '../../tools/tool-messages.js'
import { Progress } from '../progress.js'
import { type Connection, runAlone } from './standalone-tool.js'
import { becomeOwner } from './store-account.js'

/** The maximum wait for a service that is starting or stopping. */
const waitMs = 15_000

const retryMs = 100

/** There is no store, and a new one can be created. */
export class MissingStore extends Error {}

/** Not called for progress lines. @param progress call its `end` before printing anything else to a terminal */
type OnLine = (line: string, progress: Progress) => Promise<void> | void

/**
 * Returns a function that sends requests about API keys. After a change, every worker of this host's service uses the new
 * keys, or is named on standard error.
 *
 * @param creates allows creating a missing store, which is reported on standard error
 * @returns a function that rejects with an Error if no response arrives
 */
export function requestsTo(location: Config, creates = false): SendKeyRequest {
  return async (request) => {
    const reached = await connectOrLock(location, creates)
    if ('service' in reached)
      return responseOf(parseResponse(request.command, await exchange(reached.service, nameOf(location), request)))
    if (reached.isNew) complain(`there is no store in ${location.data}; creating one`)
    let line = ''
    await converse(runAlone(location, reached.lock, { kind: 'request', request }), (text) => void (line = text))
    // While the lock is held, no service is running.
    if (reached.lock === undefined && request.command !== 'listKeys') await announceChange(location)
    return parseResponse(request.command, line).response
  }
}

/** Makes the workers of this host's service, if it is running, reload the keys of a store that it may share. */
async function announceChange(location: Config): Promise<void> {
  try {
    const service = await connectToControl(location.data)
    if (service === undefined) return
    responseOf(parseResponse('keysChanged', await exchange(service, nameOf(location), { command: 'keysChanged' })))
  } catch (error) {
    complain(`${(error as Error).message}; if it uses this store, its workers use the new keys within a second`)
  }
}

const nameOf = ({ data }: Config): string => `the service that uses ${data}`

/** Reports on standard error the workers that the line names. */
function responseOf<Command extends keyof Responses>({
  response,
  late = [],
}: ResponseLine<Command>): Responses[Command] {
  if (late.length > 0) {
    complain(
      late.length === 1
        ? `worker ${late[0]} did not respond; until it does or is replaced, it still uses the old keys`
        : `workers ${late.join(', ')} did not respond; until they do or are replaced, they still use the old keys`,
    )
  }
  return response
}

/**
 * Runs a tool through the service or in a child process. If `--data` is given although the store is PostgreSQL,
 * that is reported on standard error: the user may have meant the store in that directory.
 *
 * @param onLine receives each line of the tool's output, in order
 * @param size of the input, for the progress bar; undefined if it is unknown
 * @throws UsageError for an invalid setting; Error with the tool's own message, or if the input cannot be read
 */
export async function runTool(
  given: GivenSettings,
  work: ToolWork,
  onLine: OnLine,
  input?: Readable,
  size?: number,
): Promise<void> {
  const location = readConfig(given)
  if (given.data !== undefined && !isExclusive(location.store))
    complain('--data is ignored because the store is PostgreSQL; "--store lmdb" selects the store in that directory')
  const reached = await connectOrLock(location, work.tool === 'import')
  const connection =
    'service' in reached
      ? runInService(reached.service, location, work)
      : runAlone(location, reached.lock, { kind: 'tool', work })
  await converse(connection, onLine, input, size)
}

/** Exchanges lines with a tool until its last one, and always closes the connection. */
export async function converse(
  { stream, whyEnded, close }: Connection,
  onLine: OnLine,
  input = Readable.from([]),
  size?: number,
): Promise<void> {
  const progress = new Progress(size)
  let inputError: Error | undefined
  // A broken connection also destroys the input, with another error.
  input.on('error', (error) => {
    if (!stream.destroyed) inputError = error
  })
  try {
    for await (const line of linesOf(stream)) {
      const failure = failureIn(line)
      if (failure !== undefined) throw failure
      if (line === readyLine) {
        stream.setTimeout(0)
        pipeline(input, stream, () => {})
      } else if (line === endLine) return
      else if (!progress.take(line)) await onLine(line, progress)
    }
    throw inputError === undefined
      ? await whyEnded()
      : new Error(`standard input cannot be read: ${inputError.message}`)
  } finally {
    progress.end()
    await close()
  }
}

/** Yields complete lines until the connection closes, for any reason. */
async function* linesOf(stream: Socket): AsyncGenerator<string> {
  try {
    for await (const line of splitLines(stream, importLineBytesMax, 'dropped')) yield line.toString()
  } catch {
    // After a broken connection, the last line is missing; `converse` reports that.
  }
}

function runInService(service: Socket, { data }: Config, work: ToolWork): Connection {
  boundSilence(service)
  service.write(`${requestLine({ command: 'tool', ...work })}\n`)
  return {
    stream: service,
    async whyEnded() {
      const running = await connectToControl(data)
      running?.destroy()
      if (running === undefined) return new Error('the service stopped before the work was complete')
      return new Error(
        `the service's process doing the work died before it finished: see the logs of the service and the kernel; if a fault such as SIGBUS killed it, the store in ${data} may be damaged`,
      )
    },
    close: () => Promise.resolve(void service.destroy()),
  }
}

/** A connection to the running service, or the lock under which the store may be opened; a shared store needs no lock. */
type Reached = { readonly service: Socket } | { readonly lock: DirectoryLock | undefined; readonly isNew: boolean }

/**
 * Connects to the service or takes the lock. A root process first becomes the directory's owner, so that the files it
 * creates there belong to the service. If the store is in use and no service responds, the process exits.
 *
 * @throws Error if there is no store and `creates` is false; nothing is changed
 */
async function connectOrLock({ data, store }: Config, creates: boolean): Promise<Reached> {
  if (!isExclusive(store)) return { lock: undefined, isNew: false }
  const deadline = Date.now() + waitMs
  for (;;) {
    const service = await connectToControl(data)
    if (service !== undefined) return { service }
    const problem = missing(data)
    if (problem !== undefined && !(creates && problem instanceof MissingStore)) throw problem
    const owner = statSync(data, { throwIfNoEntry: false })
    if (owner !== undefined) becomeOwner(owner, data)
    const lock = await lockDirectory(data, 0)
    if (lock !== undefined) return { lock, isNew: problem !== undefined }
    if (Date.now() > deadline) {
      return fatal(exitCodes.directoryInUse, `the data directory ${data} is in use, but its service does not respond`)
    }
    await sleep(retryMs)
  }
}

/** Returns the reason why a data directory has no usable store; undefined if it has one. */
function missing(data: string): Error | undefined {
  const needed = [
    [data, `there is no directory ${data}`],
    [dataFile(data), `there is no store in ${data} (no file ${dataFile(data)})`],
  ] as const
  for (const [path, problem] of needed) {
    try {
      lstatSync(path)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (code !== 'ENOENT' && code !== 'ENOTDIR') {
        return new NothingDone(
          `the data directory ${data} cannot be read: ${message}; run this command as the service's user or as root`,
        )
      }
      const staging = stagingDirectory(data)
      if (existsSync(staging)) {
        return new NothingDone(
          `there is no store in ${data} because a restore was interrupted: run "topicd restore FILE --data ${data}" again, or delete ${staging} to start with an empty store`,
        )
      }
      return new MissingStore(`${problem}; set the data directory with --data or TOPICD_DATA`)
    }
  }
  return undefined
}
