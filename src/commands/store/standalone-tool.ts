/**
 * The process that runs a tool if the service does not: a child of the command. It inherits the directory's lock, if the store
 * needs one, and uses the same protocol as a child of the service.
 */
import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { within } from '../../base/within.js'
import type { DirectoryLock } from '../../cluster/directory-lock.js'
import { connectionDescriptor, type ToolMessage, type ToTool } from '../../cluster/messages.js'
import { type Exit, nativeFaults, shortage } from '../../cluster/native-faults.js'
import type { Config } from '../../settings/config.js'
import { dataFile } from '../../store/lmdb/environment/files.js'

/** A connection to a tool, which runs in a child of the service or of the command. */
export interface Connection {
  readonly stream: Socket
  /** The reason, for the user, why the connection ended before the work did. */
  whyEnded(): Promise<Error>
  /** Stops unfinished work, and releases everything. */
  close(): Promise<void>
}

/** Damaged files crashed the process that was reading them. */
export class DamagedStore extends Error {
  constructor(
    data: string,
    readonly signal: string,
  ) {
    super(
      `the store in ${data} is damaged: the process reading ${dataFile(data)} crashed (${signal}); restore a backup with "topicd restore"`,
    )
  }
}

/** Allows for a commit in flight and for closing the store. */
const closeMsMax = 15_000

function endOf(child: ChildProcess): Promise<Exit & { readonly error?: Error }> {
  return new Promise((resolve) => {
    // Without a process id, no exit event follows. Otherwise a message could not be delivered, and the exit gives the reason.
    child.on('error', (error) => child.pid === undefined && resolve({ error }))
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
}

/**
 * Starts the process, which opens the store and starts its work.
 *
 * @param lock on the data directory, released at the end; undefined for a store that needs no lock
 */
export function runAlone(config: Config, lock: DirectoryLock | undefined, work: ToolMessage): Connection {
  const script = fileURLToPath(new URL('../../cluster/tool/tool-process.js', import.meta.url))
  // Its log, which contains the stack of any crash, goes to standard error. The last descriptor, number
  // `connectionDescriptor`, is the connection: a socket pair.
  const stdio = ['ignore', 2, 'inherit', 'ipc', lock?.descriptor ?? 'ignore', 'pipe'] as const
  const child = fork(script, [], { stdio: [...stdio] })
  const ended = endOf(child)
  const stream = (child.stdio as readonly unknown[])[connectionDescriptor] as Socket
  stream.on('error', () => {})
  const messages: readonly ToTool[] = [{ kind: 'start', config }, { kind: 'open' }, work]
  // Its first message means that it has loaded. The connection reports whether the store could be opened.
  let isOpening = false
  child.once('message', () => {
    isOpening = true
    for (const message of messages) child.send(message)
  })

  return {
    stream,
    async whyEnded() {
      const end = await ended
      const { code, signal, error } = end
      const reason = error?.message ?? signal ?? `exit code ${code}`
      if (!isOpening)
        return new Error(
          `nothing was done: the process died before it opened the store (${reason})${shortage(end, ';')}`,
        )
      if (typeof signal === 'string' && nativeFaults.has(signal)) return new DamagedStore(config.data, signal)
      return new Error(`the process doing the work died unexpectedly (${reason})`)
    },
    async close() {
      stream.destroy()
      await within(closeMsMax, ended, () => {
        child.kill('SIGKILL')
        return ended
      })
      lock?.release()
    },
  }
}
