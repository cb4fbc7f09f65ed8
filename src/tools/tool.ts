/**
 * Tools: work on the whole store that the command line starts. Each runs in a process of its own (cluster/tool-process.ts), the
 * service's or, while no service runs, the command line's.
 *
 * A tool leaves the event loop free every few milliseconds: whenever a worker is replaced its process must hold its writes.
 */
import type { TopicStore } from '../store/store.js'
import { backupTool } from './backup.js'
import { checkTool } from './check.js'
import { exportTool } from './export.js'
import { importTool } from './import.js'

/** What a tool talks to. */
export interface ToolIo {
  /** A line out, or several with line ends between them, without the last end; resolves when there is room for more. */
  emit(lines: string | Uint8Array): Promise<void>
  /** The bytes that come in, for the tools that take any. */
  readonly input: AsyncIterable<Uint8Array>
  /** Says when the work is to stop, since nobody waits for it or the service does; `emit` rejects from then on. */
  readonly signal: AbortSignal
  /** The data directory, for what can be said of its file system; undefined when the topics are elsewhere. */
  readonly directory: string | undefined
  /** Free space that has to stay, in bytes. */
  readonly diskFreeBytesMin: number
}

/**
 * Carries out one piece of work.
 *
 * @throws Error with a message for the person who asked
 */
export type Tool = (store: TopicStore, options: unknown, io: ToolIo) => Promise<void>

export const tools: Readonly<Record<string, Tool>> = {
  backup: backupTool,
  check: checkTool,
  export: exportTool,
  import: importTool,
}
