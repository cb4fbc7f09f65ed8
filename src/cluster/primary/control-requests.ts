/**
 * Handles requests from the command line, and from workers for the console, over the control socket: requests about API keys and
 * notices of their changes (api-keys.ts), the overview, reloads, and tools, each in its own process. Nothing here opens the store.
 */
import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Overview } from '../../api/console/primary.js'
import type { Logger } from '../../ops/log.js'
import type { ToolName, ToolWork } from '../../tools/tool-messages.js'
import type { ControlRequest, Reloaded } from '../control/messages.js'
import { parseRequest } from '../control/protocol.js'
import { type ControlHandlers, refuse, respond } from '../control/socket.js'
import type { ToChild, ToTool } from '../messages.js'
import type { ApiKeys } from './api-keys.js'
import { audited } from './audited-keys.js'
import { Child, mayBeDamage } from './child.js'
import type { StoreOpener } from './store-opening.js'

interface ControlRequestsOptions {
  readonly keys: Pick<ApiKeys, 'request' | 'announce'>
  readonly opener: Pick<StoreOpener, 'open'>
  /** Starts a process that waits for the message that names its tool. */
  readonly forkTool: () => ChildProcess
  /** The first message to such a process. */
  readonly start: () => ToChild
  readonly overview: () => Promise<Overview>
  /** Replaces the workers; rejects with the reason if that fails. */
  readonly reload: () => Promise<Reloaded>
  readonly stopping: () => boolean
  readonly log: Logger
}

const loadMsMax = 20_000

/** Maximum number of tools that run at the same time: each is a process that opens the store. */
const toolsMax = 8

/** Time for a tool to clean up and exit. While lmdb copies for a backup, a plain exit would wait, so the tool kills itself. */
const toolEndMsMax = 2000

export class ControlRequests implements ControlHandlers {
  readonly #tools = new Set<Child>()

  constructor(private readonly options: ControlRequestsOptions) {}

  onRequest(line: Uint8Array, socket: Socket): void {
    const request = parseRequest(line)
    if ('problem' in request) {
      refuse(socket, new Error(request.problem))
      return this.onRefused(request.problem)
    }
    if (this.options.stopping()) return refuse(socket, new Error('the service is stopping'))
    this.#respond(request, socket).catch((error: Error) => refuse(socket, error))
  }

  onRefused(reason: string): void {
    this.options.log.warn({ reason }, 'malformed control request')
  }

  /** Stops the running tools; resolves when they have exited. */
  async endTools(): Promise<void> {
    await Promise.all([...this.#tools].map((tool) => tool.terminate(toolEndMsMax)))
  }

  killTools(): void {
    for (const tool of this.#tools) tool.discard('the service is stopped immediately')
  }

  async #respond(request: ControlRequest, socket: Socket): Promise<void> {
    switch (request.command) {
      case 'tool':
        return this.#runTool(request, socket)
      case 'reload':
        return respond(socket, { response: await this.options.reload() })
      case 'keysChanged':
        return respond(socket, { response: true, late: await this.options.keys.announce() })
      case 'overview':
        return respond(socket, { response: await this.options.overview() })
      default:
        return respond(socket, await audited(request, this.options.keys, this.options.log))
    }
  }

  /** Starts the tool's process and has it open the store, like any other process; then the process owns the connection. */
  async #runTool(work: ToolWork, socket: Socket): Promise<void> {
    if (this.#tools.size >= toolsMax) throw new Error(`${toolsMax} tools are running, which is the limit`)
    const child = this.#forkTool(work.tool)
    const abandon = (): void => child.requestEnd()
    socket.once('close', abandon)
    try {
      await child.waitFor('loaded', loadMsMax)
      child.send(this.options.start())
      await this.options.opener.open(child)
      socket.off('close', abandon)
      if (socket.destroyed) throw new Error('the caller has disconnected')
      const message: ToTool = { kind: 'tool', work }
      child.process.send(message, socket, {}, (error) => error && refuse(socket, error))
    } catch (error) {
      child.end((error as Error).message)
      throw error
    }
  }

  #forkTool(tool: ToolName): Child {
    const child = new Child(this.options.forkTool(), this.options.log)
    this.#tools.add(child)
    void child.ended.then((end) => {
      this.#tools.delete(child)
      // An import may have restored API keys.
      if (tool === 'import') void this.options.keys.announce()
      if (!mayBeDamage(end)) return
      const { pid } = child.process
      this.options.log.error({ tool, child: pid, signal: end.signal }, 'tool died; the store may be damaged')
    })
    return child
  }
}
