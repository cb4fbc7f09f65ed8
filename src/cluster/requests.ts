/**
 * What the command line asks of a running service over the control socket: a question, which a worker answers, or a tool that
 * needs the whole store, which gets a process of its own. Nothing here opens the store.
 */
import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { type Child, childOf } from './child.js'
import type { Members } from './members.js'
import type { Question, ToChild } from './messages.js'

type ControlRequest =
  | { readonly command: 'ask'; readonly question: Question }
  | { readonly command: 'tool'; readonly tool: string; readonly options: unknown }

export interface Requests {
  /** Carries out what the first line of a connection asks for, and answers on it. */
  onRequest(request: unknown, socket: Socket): void
  /** Resolves when the tools under way have ended, as they were told to. */
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
}

/** How long a question of the command line may take: a commit, at worst behind the opening of a worker. */
const askMsMax = 20_000

export function createRequests({ serving, members, forkTool, start }: RequestsOptions): Requests {
  const tools = new Set<Child>()

  /** It opens the store as every member does; then the connection is its own. */
  async function runTool(tool: string, options: unknown, socket: Socket): Promise<void> {
    const child = childOf(forkTool())
    tools.add(child)
    void child.ended.then(() => tools.delete(child))
    socket.once('close', () => child.process.kill('SIGTERM'))
    await child.said('loaded', askMsMax)
    child.tell(start())
    await members.open(child)
    socket.removeAllListeners('close')
    child.process.send({ kind: 'tool', tool, options }, socket)
  }

  async function answer(request: ControlRequest, socket: Socket): Promise<void> {
    const reply = (line: object): unknown => socket.end(`${JSON.stringify(line)}\n`)
    try {
      if (request.command === 'tool') return await runTool(request.tool, request.options, socket)
      const [worker] = serving()
      if (worker === undefined) throw new Error('no worker serves at the moment')
      reply({ answer: await worker.ask(request.question, askMsMax) })
    } catch (error) {
      reply({ error: (error as Error).message })
    }
  }

  return {
    onRequest: (request, socket) => void answer(request as ControlRequest, socket),
    async endTools() {
      for (const tool of tools) tool.process.kill('SIGTERM')
      await Promise.all([...tools].map((tool) => tool.ended))
    },
    killTools() {
      for (const tool of tools) tool.process.kill('SIGKILL')
    },
  }
}
