/**
 * The type of a tool: work on the whole store that the command line starts. Each tool runs in a process of its own
 * (cluster/tool/tool-process.ts), a child of the service or, while no service runs, of the command line. registry.ts lists
 * the tools.
 */
import type { TopicStore } from '../store/store.js'

/** A tool's connection to its caller, and the facts about its environment that it needs. */
export interface ToolIo {
  /** Sends a line, or several separated by line feeds, without the last one; resolves when there is room for more. */
  emit(lines: string | Uint8Array): Promise<void>
  /** The input, for the tools that take any. */
  readonly input: AsyncIterable<Uint8Array>
  /** Aborts when the caller is gone or the service stops; `emit` rejects from then on. */
  readonly signal: AbortSignal
  /** Free space that has to remain on a backup's disk, in bytes. */
  readonly diskFreeBytesMin: number
}

/** Does the work with what it needs of a store. Rejects with an Error whose message is for the user. */
export type Tool<Options, Needed = TopicStore> = (store: Needed, options: Options, io: ToolIo) => Promise<void>
