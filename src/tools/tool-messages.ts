/** The options of the tools, and the lines that they send. Types only, so that the command line does not load the tools. */
import type { BackupDone } from '../store/maintenance.js'

export interface ToolOptions {
  readonly backup: BackupOptions
  readonly check: NoOptions
  readonly export: ExportOptions
  readonly import: ImportOptions
  readonly move: MoveOptions
}

export type ToolName = keyof ToolOptions

export type ToolWork<Name extends ToolName = ToolName> = {
  readonly [Each in Name]: { readonly tool: Each; readonly options: ToolOptions[Each] }
}[Name]

/** An object without members. */
// biome-ignore lint/suspicious/noEmptyInterface: typia generates a validator from it, which needs its name
interface NoOptions {}

export interface BackupOptions {
  /** The file to write: an absolute path that does not exist yet. */
  readonly file: string
  /** The directory of the file, as the caller sees it. */
  readonly directory: DirectoryId
}

/** Distinguishes two directories that have the same path in two mount namespaces. */
export interface DirectoryId {
  readonly device: string
  readonly inode: string
}

/** The last line of a backup's output. */
export interface BackupLine {
  readonly backup: BackupDone
}

/** A line of a check's output. */
export type CheckLine =
  | { readonly finding: string }
  | { readonly checked: { readonly records: number; readonly findings: number } }

export interface ExportOptions {
  /** Undefined for all topics. */
  readonly selector: string | undefined
  readonly withKeys: boolean
}

export interface ImportOptions {
  /**
   * The first line to import, from 1; earlier lines are only counted.
   *
   * @type uint64
   * @minimum 1
   */
  readonly fromLine: number
  /** Whether lines of API keys are also imported. */
  readonly withKeys: boolean
  /** Whether the last line of an export may be missing or state a different number of lines. */
  readonly allowUnfinished?: boolean | undefined
}

/** The last line of an import's output. */
export interface ImportedLine {
  readonly imported: Imported
}

export interface Imported {
  readonly topics: number
  /** The number of topics that did not exist before. */
  readonly created: number
  readonly keys: number
  readonly keysLeftOut: number
}

/** Two paths, neither of which is or contains the other. */
export interface MoveOptions {
  readonly from: string
  readonly to: string
  /** Whether each topic is removed from its old path. */
  readonly removes: boolean
  /** Whether existing topics at the new paths are replaced. */
  readonly overwrites: boolean
}

/** The last line of a move's output. */
export interface MovedLine {
  readonly moved: Moved
}

export interface Moved {
  readonly topics: number
  /** The number of topics that a rename left in place because they changed after they were read. */
  readonly changed: number
}

/** The progress of a tool. */
export interface ProgressLine {
  readonly progress: {
    /** The current step, in a word or two. */
    readonly step: string
    readonly done: number
    /** The final value of `done`; undefined if it is unknown. */
    readonly total?: number | undefined
  }
}
