/**
 * Tools: work on the whole store that the command line starts. The same function runs in a process of the service's (its
 * lines travel over the control socket) and, while no service runs, in the command line's own process.
 */
import type { TopicStore } from '../store/store.js'
import { checkTool } from './check.js'

/** What a tool talks to. */
export interface ToolIo {
  /** One line out, without its end; resolves when there is room for more. */
  emit(line: string | Uint8Array): Promise<void> | void
  /** The lines that come in, for the tools that take any. */
  readonly input: AsyncIterable<string>
}

/**
 * Carries out one piece of work.
 *
 * @throws Error with a message for the person who asked
 */
export type Tool = (store: TopicStore, options: unknown, io: ToolIo) => Promise<void>

export const tools: Readonly<Record<string, Tool>> = { check: checkTool }
