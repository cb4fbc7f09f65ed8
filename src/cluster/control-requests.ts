/**
 * What the command line asks of a running service over the control socket: a question, which a worker answers; a reload; or
 * a tool that needs the whole store, which gets a process of its own. Nothing here opens the store.
 */
import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Logger } from '../ops/log.js'
import { Child, isNativeFault } from './child.js'
import { type ControlRequest, parseRequest, type Reloaded, type ToolRequest } from './control-protocol.js'
import { type ControlHandlers, refuse, reply } from './control-socket.js'
import type { ToChild } from './messages.js'
import type { Members } from './store-opening.js'

export interface Requests extends ControlHandlers {
  /** Ends the tools that run; resolves when they have ended. */
  endTools(): Promise<void>
  killTools(): void
}

export interface RequestsOptions {
  /** The workers that serve now. */
  readonly serving: () => readonly Child[]
  readonly members: Members
  /** Starts a process that waits to be told which tool it is. */
  readonly forkTool: () => ChildProcess
  /** The first word to such a process. */
  readonly start: () => ToChild
  /** Replaces the workers; rejects with the reason when that was not done. */
  readonly reload: () => Promise<Reloaded>
  readonly stopping: () => boolean
  readonly log: Logger
}

/** How long a question of the command line may take: a commit, at worst behind the opening of a worker. */
const askMsMax = 20_000

/** Tools at once: each is a process that opens the store. */
const toolsMax = 8

/** How long a tool may take to clean up and end; one that copies the store would keep a stop waiting for as long as that takes. */
const toolEndMsMax = 2000

export function createRequests({
  serving,
  members,
  forkTool,
  start,
  reload,
  stopping,
  log,
}: RequestsOptions): Requests {
  const tools = new Set<Child>()

  /** It opens the store as every member does; then the connection is its own. */
  async function runTool({ tool, options }: ToolRequest, socket: Socket): Promise<void> {
    if (tools.size >= toolsMax) throw new Error(`${toolsMax} tools run at the moment, and no more may`)
    const child = new Child(forkTool(), log)
    tools.add(child)
    void child.ended.then((end) => {
      tools.delete(child)
      if (isNativeFault(end))
        log.error({ tool, child: child.process.pid, signal: end.signal }, 'tool died; the store may be damaged')
    })
    const abandon = (): unknown => child.process.kill('SIGTERM')
    socket.once('close', abandon)
    try {
      await child.waitFor('loaded', askMsMax)
      child.send(start())
      await members.open(child)
      socket.off('close', abandon)
      if (socket.destroyed) throw new Error('the caller has gone')
      child.process.send({ kind: 'tool', tool, options }, socket, {}, (error) => error && refuse(socket, error.message))
    } catch (error) {
      child.end((error as Error).message)
      throw error
    }
  }

  async function answer(request: ControlRequest, socket: Socket): Promise<void> {
    switch (request.command) {
      case 'tool':
        return runTool(request, socket)
      case 'reload':
        return reply(socket, await reload())
      case 'ask': {
        const [worker] = serving()
        if (worker === undefined) throw new Error('no worker serves at the moment')
        return reply(socket, await worker.request(request.question, askMsMax))
      }
    }
  }

  function onRefused(reason: string): void {
    log.warn({ reason }, 'malformed control request')
  }

  return {
    onRefused,
    onRequest(line, socket) {
      const request = parseRequest(line)
      if ('problem' in request) {
        refuse(socket, request.problem)
        return onRefused(request.problem)
      }
      if (stopping()) return refuse(socket, 'the service is stopping')
      answer(request, socket).catch((error: Error) => refuse(socket, error.message))
    },
    async endTools() {
      await Promise.all([...tools].map((tool) => tool.terminate(toolEndMsMax)))
    },
    killTools() {
      for (const tool of tools) tool.process.kill('SIGKILL')
    },
  }
}
