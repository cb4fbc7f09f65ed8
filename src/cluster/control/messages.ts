/**
 * The messages on the control socket, in both directions: types only. protocol.ts reads and writes their lines;
 * validators.ts checks what arrives by these types.
 */
import type { KeyRecord, KeyRotation, ListedKey } from '../../keys/record.js'
import type { BackupOptions, ExportOptions, ImportOptions } from '../../tools/tool-messages.js'
import type { Question } from '../messages.js'

export type ControlRequest =
  /** A question about API keys, which a worker answers. */
  | { readonly command: 'ask'; readonly question: Question }
  /** The keys of a store that hosts share were changed: have every worker load them. */
  | KeysChangedRequest
  /** Read the settings again and replace the workers. */
  | ReloadRequest
  /** Run a tool in a process of its own, which then owns the connection. */
  | ToolRequest

interface KeysChangedRequest {
  readonly command: 'keysChanged'
}

interface ReloadRequest {
  readonly command: 'reload'
}

export type ToolRequest =
  | { readonly command: 'tool'; readonly tool: 'backup'; readonly options: BackupOptions }
  | { readonly command: 'tool'; readonly tool: 'check'; readonly options: NoOptions }
  | { readonly command: 'tool'; readonly tool: 'export'; readonly options: ExportOptions }
  | { readonly command: 'tool'; readonly tool: 'import'; readonly options: ImportOptions }

/** An object without members. */
// biome-ignore lint/suspicious/noEmptyInterface: typia makes a validator from it, which needs its name
interface NoOptions {}

/** The outcome of a reload. */
export interface Reloaded {
  /** How many workers serve now, all of them started by this reload. */
  readonly workers: number
  /** The versions of their builds: one, unless the build was replaced meanwhile. */
  readonly versions: readonly string[]
  /** The version of the primary, which only a restart replaces. */
  readonly primaryVersion: string
  readonly tookMs: number
  /** The names of settings that have changed and need a restart. */
  readonly restartNeeded: readonly string[]
}

/** A question as it is sent: a subtree may still be any string. */
type QuestionText =
  | { readonly about: 'addKey'; readonly record: KeyRecord<string> }
  | { readonly about: 'rotateKey'; readonly rotation: KeyRotation }
  | { readonly about: 'revokeKey'; readonly name: string }
  | { readonly about: 'listKeys' }

export type RequestText =
  | { readonly command: 'ask'; readonly question: QuestionText }
  | KeysChangedRequest
  | ReloadRequest
  | ToolRequest

/** The service refuses the request, or gives up on it. */
export interface ErrorLine {
  readonly error: string
}

/** The answer to a question or a reload. */
export interface AnswerLine {
  readonly answer: unknown
  /** After a change of API keys: the process ids of the workers that may still serve by the former keys. */
  readonly late?: readonly number[]
}

/** The answer to a question about API keys. */
export interface KeyAnswer {
  readonly answer: boolean | readonly ListedKey[]
  readonly late: readonly number[]
}

/** The answer to a question about API keys. */
export type KeyAnswerText = boolean | readonly ListedKey[]
