/** The options of the tools, and the lines that they send. Types only: the command line does not load the tools. */
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
// biome-ignore lint/suspicious/noEmptyInterface: typia makes a validator from it, which needs its name
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

/** The last line of a backup's answer. */
export interface BackupLine {
  readonly backup: BackupDone
}

/** A line of the check's answer. */
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
   * The first line that is imported, from 1; those before it are only counted.
   *
   * @type uint64
   * @minimum 1
   */
  readonly fromLine: number
  /** Whether lines of API keys are imported too, or left out. */
  readonly withKeys: boolean
  /** Whether the line that ends an export may be absent or count other lines. */
  readonly allowUnfinished?: boolean | undefined
}

/** The last line of an import's answer. */
export interface ImportedLine {
  readonly imported: Imported
}

export interface Imported {
  readonly topics: number
  /** How many of them did not exist before. */
  readonly created: number
  readonly keys: number
  readonly keysLeftOut: number
}

/** Two paths, neither of which is or contains the other. */
export interface MoveOptions {
  readonly from: string
  readonly to: string
  /** Whether each topic is removed from its old place. */
  readonly removes: boolean
  /** Whether values at the new place are replaced. */
  readonly overwrites: boolean
}

/** The last line of a move's answer. */
export interface MovedLine {
  readonly moved: Moved
}

export interface Moved {
  readonly topics: number
  /** How many of a rename have changed since they were read, and stay where they were. */
  readonly changed: number
}

/** How far a tool has come. */
export interface ProgressLine {
  readonly progress: {
    /** What is being done, in a word or two. */
    readonly step: string
    readonly done: number
    /** What `done` will be at the end; undefined if that is unknown. */
    readonly total?: number | undefined
  }
}
