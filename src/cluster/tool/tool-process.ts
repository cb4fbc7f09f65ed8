/**
 * A tool process. While a service runs, the primary forks it as another process that opens the store; otherwise the command line
 * forks it (commands/store/standalone-tool.ts). It opens the store when its parent tells it to, does one piece of work over a
 * connection, and exits. Damaged files may cause a signal that kills the process; the parent survives and can explain its death.
 *
 * Stopped work (tool-connection.ts) ends at its next step, so that its snapshot is closed. An open snapshot prevents the reuse of
 * every page that is freed later.
 *
 *     load → open → work → close the store → send the outcome in the last line → exit
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
 * The maximum wait for the store to close, which is impossible while lmdb copies. After stopped work, also the maximum wait for the
 * caller to take the last line.
 */
const stopMsMax = 300

class ToolProcess {
  #config: Config | undefined
  /** True if a service runs; its writer then writes for this process. */
  #hasWriter = false
  #opening: Promise<TopicStore> | undefined
  #connection: ToolConnection | undefined
  /** True if the process exits of its own accord, so that the exit, with any code, does not become a kill. */
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

  /** Stops the work, after which the process exits; without work, exits immediately. */
  stop(reason: string): void {
    if (this.#connection === undefined) this.#end(exitCodes.failed)
    this.#connection?.stop(reason)
  }

  #requireConfig(): Config {
    if (this.#config === undefined) throw new Error('the parent has sent no settings')
    return this.#config
  }

  /**
   * Reports `opened` even if opening failed, so that the other processes may continue; `#run` tells the caller the
   * reason.
   */
  async #open({ store, data, diskFreeBytesMin, changesKept }: Config): Promise<void> {
    const options = { directory: data, readsInOrder: true, diskFreeBytesMin, changesKept }
    this.#opening = openStore(store, options, this.#hasWriter ? () => connectToWriter(data) : undefined)
    await this.#openedStore()
    sendToParent({ kind: 'opened' })
  }

  /** Undefined if the store could not be opened. */
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
    // A plain exit would wait until lmdb has copied everything; this exit becomes a kill (see the exit listener below).
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

// After a defect, exit with a code: a kill would look as if the system had sent it (see the exit listener below).
process.on('uncaughtException', () => (program.isEnding = true))
logCrashes(createLog('tool'))

onParentMessage((message: ToTool, handle) => program.take(message, handle))
process.on('SIGTERM', () => program.stop('the service is stopping'))
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

// Without its parent, the process must not write: the next service may open the store. A backup's listener removes its file first.
process.on('exit', () => {
  if (!program.isEnding) process.kill(process.pid, 'SIGKILL')
})
process.on('disconnect', () => process.exit())

sendToParent({ kind: 'loaded', version })
