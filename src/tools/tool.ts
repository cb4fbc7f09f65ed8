/**
 * The type of a tool: work on the whole store, started by the command line. Each tool runs in its own process
 * (cluster/tool/tool-process.ts), a child of the service or of the command line. registry.ts lists the tools.
 */
import type { TopicStore } from '../store/store.js'

/** A tool's connection to its caller, and the facts that it needs about its environment. */
export interface ToolIo {
  /** Sends one or more lines, separated by line feeds but without a final one; resolves when there is room for more. */
  emit(lines: string | Uint8Array): Promise<void>
  /** The input, for tools that read any. */
  readonly input: AsyncIterable<Uint8Array>
  /** Aborts when the caller is gone or the service stops; `emit` rejects from then on. */
  readonly signal: AbortSignal
  /** Space that must stay free on a backup's disk, in bytes. */
  readonly diskFreeBytesMin: number
}

/** Does the work with the needed part of a store. Rejects with an Error whose message is for the user. */
export type Tool<Options, Needed = TopicStore> = (store: Needed, options: Options, io: ToolIo) => Promise<void>
