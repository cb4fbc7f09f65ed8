/**
 * The program of a tool's process. While a service runs, the primary forks it, as one more process that opens the
 * store; otherwise the command line does (commands/store/standalone-tool.ts). It opens the store when its parent says so, does
 * one piece of work over a connection, and ends. Damaged files may kill it by a signal, which its parent survives and can
 * explain.
 *
 * Stopped work (tool-connection.ts) ends at its next step, so that no snapshot outlives it: a snapshot that stays open
 * keeps every page that is freed later from being reused.
 *
 *     load → open → work → the store closes → the last line says how it went → end
 */
import { Socket } from 'node:net'
import { exitCodes } from '../../base/exit-codes.js'
import { version } from '../../base/version.js'
import { within } from '../../base/within.js'
import { createLog, logCrashes } from '../../ops/log.js'
import type { Config } from '../../settings/config.js'
import { openStore } from '../../store/open.js'
import type { TopicStore } from '../../store/store.js'
import { runTool } from '../../tools/registry.js'
import { connectToWriter } from '../control/directory-sockets.js'
import { responseLine } from '../control/protocol.js'
import { keyResponse } from '../key-requests.js'
import { connectionDescriptor, type ToolMessage, type ToTool } from '../messages.js'
import { onParentMessage, sendToParent } from '../parent.js'
import { ToolConnection } from './tool-connection.js'

/**
 * The maximum wait of stopped work for the store to close, which is impossible while lmdb copies, and for its last line
 * to leave.
 */
const stopMsMax = 300

class ToolProcess {
  #config: Config | undefined
  /** True if a service runs, whose writer writes for this process. */
  #hasWriter = false
  #opening: Promise<TopicStore> | undefined
  #connection: ToolConnection | undefined
  /** True if the process ends by its own decision, so that its exit, with any code, needs no kill. */
  isEnding = false

  take(message: ToTool, handle: unknown): void {
    switch (message.kind) {
      case 'start':
        this.#config = message.config
        this.#hasWriter = message.hasWriter === true
        return
      case 'open':
        return void this.#open(this.#requireConfig())
      default:
        return void this.#work(message, handle instanceof Socket ? handle : new Socket({ fd: connectionDescriptor }))
    }
  }

  /** Stops the work, which then ends the process; ends the process at once if there is no work yet. */
  stop(reason: string): void {
    if (this.#connection === undefined) this.#end(exitCodes.failed)
    this.#connection?.stop(reason)
  }

  #requireConfig(): Config {
    if (this.#config === undefined) throw new Error('the parent has sent no settings')
    return this.#config
  }

  /**
   * Reports `opened` even if that failed, so that the other processes may go on; the caller learns the reason from
   * `#run`.
   */
  async #open({ store, data, diskFreeBytesMin, changesKept }: Config): Promise<void> {
    const options = { directory: data, readsInOrder: true, diskFreeBytesMin, changesKept }
    this.#opening = openStore(store, options, this.#hasWriter ? () => connectToWriter(data) : undefined)
    await this.#openedStore()
    sendToParent({ kind: 'opened' })
  }

  /** Undefined when the store could not be opened. */
  async #openedStore(): Promise<TopicStore | undefined> {
    return this.#opening?.catch(() => undefined)
  }

  async #work(message: ToolMessage, socket: Socket): Promise<void> {
    const connection = new ToolConnection(socket)
    this.#connection = connection
    const failure = await this.#run(message, connection).then(
      () => undefined,
      (error: Error) => error,
    )
    const lastLine = connection.lastLine(failure)
    const store = await this.#openedStore()
    const closed = Promise.resolve(store?.close()).then(
      () => true,
      () => false,
    )
    const isClosed = await within(stopMsMax, closed, () => false)
    await connection.close(lastLine, stopMsMax)
    // A plain exit would wait until lmdb has copied everything; this one becomes a kill (see the exit listener below).
    if (!isClosed) process.exit()
    this.#end(exitCodes.done)
  }

  /** @throws Error with a message for the caller */
  async #run(message: ToolMessage, { emit, input, signal }: ToolConnection): Promise<void> {
    const store = await this.#opening
    if (store === undefined) throw new Error('the store is not open')
    if (message.kind === 'request') return emit(responseLine({ response: await keyResponse(store, message.request) }))
    const { diskFreeBytesMin } = this.#requireConfig()
    return runTool(store, message.work, { emit, input, signal, diskFreeBytesMin })
  }

  #end(code: number): never {
    this.isEnding = true
    process.exit(code)
  }
}

const program = new ToolProcess()

// A defect ends the process with an exit code: a kill would look like the system's (see the exit listener below).
process.on('uncaughtException', () => (program.isEnding = true))
logCrashes(createLog('tool'))

onParentMessage((message: ToTool, handle) => program.take(message, handle))
process.on('SIGTERM', () => program.stop('the service is stopping'))
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

// Without its parent it must not write: the next service may open the store. A backup removes its file first.
process.on('exit', () => {
  if (!program.isEnding) process.kill(process.pid, 'SIGKILL')
})
process.on('disconnect', () => process.exit())

sendToParent({ kind: 'loaded', version })
