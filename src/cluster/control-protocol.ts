/**
 * What the command line and the running service say to each other over the control socket: every request, every line of an
 * answer, and their readers. A connection carries one request, which is its first line; lines answer it.
 *
 *     ask, reload →  {"answer":…}                                          or {"error":…}
 *     tool        →  {"ready":true}, the tool's own lines, {"end":true}    or {"error":…} at any time
 *
 * A tool's input follows the request, but only once the tool is ready.
 *
 * Requests come from outside: nothing of one is used before it is validated. Nothing here reads or writes a connection.
 */
import { isAbsolute } from 'node:path'
import type { KeyRecord, Operation } from '../store/store.js'
import type { BackupOptions } from '../tools/backup.js'
import type { ExportOptions } from '../tools/export.js'
import type { ImportOptions } from '../tools/import.js'
import { type Path, parsePath } from '../topics/path.js'
import { type ValidationError, validateControlRequest } from '../validators.js'
import type { Question } from './messages.js'

export type ControlRequest =
  /** A question about API keys, which a worker answers. */
  | { readonly command: 'ask'; readonly question: Question }
  /** Read the settings again and replace the workers. */
  | ReloadRequest
  /** Run a tool, in a process of its own that then has the connection to itself. */
  | ToolRequest

interface ReloadRequest {
  readonly command: 'reload'
}

export type ToolRequest =
  | { readonly command: 'tool'; readonly tool: 'backup'; readonly options: BackupOptions }
  | { readonly command: 'tool'; readonly tool: 'check'; readonly options: NoOptions }
  | { readonly command: 'tool'; readonly tool: 'export'; readonly options: ExportOptions }
  | { readonly command: 'tool'; readonly tool: 'import'; readonly options: ImportOptions }

/** An object without members. */
// biome-ignore lint/suspicious/noEmptyInterface: typia's validator is made from it, and knows a name
interface NoOptions {}

/** What a reload has done. */
export interface Reloaded {
  /** How many workers serve now, each started by this reload. */
  readonly workers: number
  /** The versions of their builds: one, unless the build was replaced meanwhile. */
  readonly versions: readonly string[]
  /** The version of the primary, which goes on until a restart. */
  readonly primaryVersion: string
  readonly tookMs: number
  /** The names of settings that have changed and take a restart. */
  readonly restartNeeded: readonly string[]
}

/** A question as it is sent: a subtree is still any string. */
type QuestionText =
  | { readonly about: 'addKey'; readonly record: KeyRecordText }
  | { readonly about: 'revokeKey'; readonly name: string }
  | { readonly about: 'listKeys' }

interface KeyRecordText {
  /** @pattern ^[\w.@-]{1,64}$ */
  readonly name: string
  /** @pattern ^[0-9a-f]{64}$ */
  readonly tokenHash: string
  readonly allow: readonly Operation[]
  readonly under: readonly string[]
  /** @type uint64 */
  readonly madeMs: number
}

export type RequestText = { readonly command: 'ask'; readonly question: QuestionText } | ReloadRequest | ToolRequest

/** Why a line is no request, in a sentence that repeats nothing of it, names of members included: it may hold what is secret. */
export interface RequestProblem {
  readonly problem: string
}

/** Strict about UTF-8, and a byte order mark is no JSON. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads the first line of a connection.
 *
 * @param line without its end
 * @returns the request, checked in every member, or what is wrong with it
 */
export function parseRequest(line: Uint8Array): ControlRequest | RequestProblem {
  let input: unknown
  try {
    input = JSON.parse(decoder.decode(line))
  } catch {
    return { problem: 'the request is not one line of JSON in UTF-8' }
  }
  const validation = validateControlRequest(input)
  if (!validation.success) return { problem: problemOf(validation.errors[0]) }
  const request = validation.data
  if (request.command === 'ask' && request.question.about === 'addKey') {
    const record = checkRecord(request.question.record)
    return 'problem' in record ? record : { command: 'ask', question: { about: 'addKey', record } }
  }
  if (request.command === 'tool' && request.tool === 'backup' && !isAbsolute(request.options.file)) {
    return { problem: 'the request is malformed: options.file must be an absolute path' }
  }
  return request as ControlRequest
}

/** The last step of a path: the one step that is the sender's words where a member is unknown. */
const lastStep = /(\.[\w$]+|\["(\\.|[^"\\])*"\])$/

function problemOf({ path, expected }: ValidationError): string {
  const isUnknown = expected === 'undefined'
  const member = (isUnknown ? path.replace(lastStep, '') : path).replace(/^\$input\.?/, '')
  const place = member === '' ? 'it' : member
  if (isUnknown) return `the request is malformed: ${place} has a member that is not known`
  // Of a union only the names of types would be told.
  return `the request is malformed: ${place} must be ${expected.startsWith('(') ? 'of a form that is known' : expected}`
}

/** A record whose subtrees are paths as they are stored. */
function checkRecord(record: KeyRecordText): KeyRecord | RequestProblem {
  const wrong = record.under.findIndex((text) => parsePath(text) !== text)
  if (wrong >= 0)
    return { problem: `the request is malformed: question.record.under[${wrong}] must be a path as it is stored` }
  return { ...record, under: record.under as readonly Path[] }
}

/** A tool has opened the store and takes its input. */
export const readyLine = '{"ready":true}'

/** A tool has done all of its work. */
export const endLine = '{"end":true}'

export function requestLine(request: ControlRequest): string {
  return JSON.stringify(request)
}

export function answerLine(answer: unknown): string {
  return JSON.stringify({ answer })
}

/** @param message for the person who asked */
export function errorLine(message: string): string {
  return JSON.stringify({ error: message })
}

const errorLineStart = '{"error":'

/** The message of an error line; undefined for any other line. */
export function errorIn(line: string): string | undefined {
  return line.startsWith(errorLineStart) ? (JSON.parse(line) as { error: string }).error : undefined
}

/**
 * What an answer line holds.
 *
 * @throws Error with the message of an error line
 */
export function answerIn(line: string): unknown {
  const error = errorIn(line)
  if (error !== undefined) throw new Error(error)
  return (JSON.parse(line) as { answer: unknown }).answer
}
