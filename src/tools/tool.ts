/**
 * What a tool is: work on the whole store that the command line starts. Each runs in a process of its own
 * (cluster/tool-process.ts), a child of the service or, while no service runs, of the command line. The table of the tools is
 * in registry.ts.
 *
 * A tool yields to the event loop every few milliseconds: whenever a worker is replaced, its process must pause its writes.
 */
import type { TopicStore } from '../store/store.js'

/** A tool's connection to its caller, and what it may know of its surroundings. */
export interface ToolIo {
  /** Sends a line, or several separated by line feeds, without the last one; resolves when there is room for more. */
  emit(lines: string | Uint8Array): Promise<void>
  /** The input, for the tools that take any. */
  readonly input: AsyncIterable<Uint8Array>
  /** Aborts when the caller is gone or the service stops; `emit` rejects from then on. */
  readonly signal: AbortSignal
  /** The data directory, to ask its file system for free space; undefined when the topics are stored elsewhere. */
  readonly directory: string | undefined
  /** Free space that has to remain, in bytes. */
  readonly diskFreeBytesMin: number
}

/** Does the work; throws an Error with a message for the person who asked for it. */
export type Tool = (store: TopicStore, options: unknown, io: ToolIo) => Promise<void>
