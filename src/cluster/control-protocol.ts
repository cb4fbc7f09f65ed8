/**
 * The protocol between the command line and the running service, over the control socket: every request, every line of an
 * answer, and their readers. A connection carries one request, which is its first line; lines answer it.
 *
 *     ask, reload →  {"answer":…}                                          or {"error":…}
 *     tool        →  {"ready":true}, the tool's own lines, {"end":true}    or {"error":…} at any time
 *
 * A tool's input follows the request, but only once the tool is ready.
 *
 * Both directions come from outside: nothing is used before it is validated. A request must match exactly; an answer may have
 * members that this version does not know, since the service may run another. Nothing here reads or writes a connection.
 */
import { isAbsolute } from 'node:path'
import typia, { type IValidation, type tags } from 'typia'
import type { KeyRecord, Operation } from '../store/store.js'
import type { BackupLine, BackupOptions } from '../tools/backup.js'
import type { CheckLine } from '../tools/check.js'
import type { ExportOptions } from '../tools/export.js'
import type { ImportedLine, ImportOptions } from '../tools/import.js'
import { type ProgressLine, progressPrefix } from '../tools/progress.js'
import { type Path, parsePath } from '../topics/path.js'
import type { ListedKey, Question } from './messages.js'

export type ControlRequest =
  /** A question about API keys, which a worker answers. */
  | { readonly command: 'ask'; readonly question: Question }
  /** Read the settings again and replace the workers. */
  | ReloadRequest
  /** Run a tool, in a process of its own that then owns the connection. */
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
  | { readonly about: 'addKey'; readonly record: KeyRecordText }
  | { readonly about: 'revokeKey'; readonly name: string }
  | { readonly about: 'listKeys' }

interface KeyRecordText {
  readonly name: string & tags.Pattern<'^[\\w.@-]{1,64}$'>
  readonly tokenHash: string & tags.Pattern<'^[0-9a-f]{64}$'>
  readonly allow: readonly Operation[]
  readonly under: readonly string[]
  readonly madeMs: number & tags.Type<'uint64'>
}

type RequestText = { readonly command: 'ask'; readonly question: QuestionText } | ReloadRequest | ToolRequest

const validateRequest = typia.createValidateEquals<RequestText>()

/** Why a line is not a request, in a sentence that repeats none of it, member names included: it may contain secrets. */
interface RequestProblem {
  readonly problem: string
}

/** Strict about UTF-8; a byte order mark is not JSON. */
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
  const validation = validateRequest(input)
  if (!validation.success) return { problem: problemOf(validation.errors.at(0)) }
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

/** The last step of a path: if a member is unknown, the only step that the sender chose. */
const lastStep = /(\.[\w$]+|\["(\\.|[^"\\])*"\])$/

function problemOf({ path, expected }: Partial<IValidation.IError> = {}): string {
  if (path === undefined || expected === undefined) return 'the request is malformed'
  const isUnknown = expected === 'undefined'
  const member = (isUnknown ? path.replace(lastStep, '') : path).replace(/^\$input\.?/, '')
  const subject = member === '' ? 'it' : member
  if (isUnknown) return `the request is malformed: ${subject} has an unknown member`
  // Of a union, typia tells only the names of our types.
  return `the request is malformed: ${subject} must be ${expected.startsWith('(') ? 'of a known form' : expected}`
}

/** A record whose subtrees are normalized paths. */
function checkRecord(record: KeyRecordText): KeyRecord | RequestProblem {
  const wrong = record.under.findIndex((text) => parsePath(text) !== text)
  if (wrong >= 0)
    return { problem: `the request is malformed: question.record.under[${wrong}] must be a normalized path` }
  return { ...record, under: record.under as readonly Path[] }
}

/** The tool takes its input from now on. */
export const readyLine = '{"ready":true}'

/** The tool has done all of its work. */
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

const isErrorLine = typia.createIs<{ readonly error: string }>()

/** The message of an error line; undefined for any other line. */
export function errorIn(line: string): string | undefined {
  return line.startsWith(errorLineStart) ? checked(JSON.parse(line), isErrorLine).error : undefined
}

/**
 * What an answer line holds, unchecked.
 *
 * @throws Error with the message of an error line
 */
function answerIn(line: string): unknown {
  const error = errorIn(line)
  if (error !== undefined) throw new Error(error)
  return checked(JSON.parse(line), isAnswerLine).answer
}

const isAnswerLine = typia.createIs<{ readonly answer: unknown }>()
const isReloaded = typia.createIs<Reloaded>()
const isKeyAnswer = typia.createIs<boolean | readonly ListedKeyText[]>()

/** A key as it is listed; JSON leaves out `usedMs` where it is undefined. */
interface ListedKeyText {
  readonly name: string
  readonly tokenHash: string
  readonly allow: readonly Operation[]
  readonly under: readonly string[]
  readonly madeMs: number
  readonly usedMs?: number
}

/** The answer to a reload. @throws Error with the message of an error line, or when it is no such answer */
export function reloadedIn(line: string): Reloaded {
  return checked(answerIn(line), isReloaded)
}

/** The answer to a question about keys. @throws Error with the message of an error line, or when it is no such answer */
export function keyAnswerIn(line: string): boolean | readonly ListedKey[] {
  return checked(answerIn(line), isKeyAnswer) as boolean | readonly ListedKey[]
}

const isBackupLine = typia.createIs<BackupLine>()
const isCheckLine = typia.createIs<CheckLine>()
const isImportedLine = typia.createIs<ImportedLine>()
const isProgressLine = typia.createIs<ProgressLine>()

/** The last line of a backup. */
export function backupIn(line: string): BackupLine['backup'] {
  return checked(JSON.parse(line), isBackupLine).backup
}

/** A line of a check: a finding, or the counts. */
export function checkLineIn(line: string): CheckLine {
  return checked(JSON.parse(line), isCheckLine)
}

/** The last line of an import. */
export function importedIn(line: string): ImportedLine['imported'] {
  return checked(JSON.parse(line), isImportedLine).imported
}

/** How far a tool has come; undefined for a line that is not about progress. */
export function progressIn(line: string): ProgressLine['progress'] | undefined {
  return line.startsWith(progressPrefix) ? checked(JSON.parse(line), isProgressLine).progress : undefined
}

/** @throws Error when the input is not of the form that this version knows */
function checked<T>(input: unknown, isValid: (input: unknown) => input is T): T {
  if (isValid(input)) return input
  throw new Error('the answer has an unknown form; the service may run another version of topicd')
}
