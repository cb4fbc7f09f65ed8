/**
 * The protocol between the command line and the running service, over the control socket: every request, every line of
 * an answer, and their readers. A connection carries one request, which is its first line; lines answer it.
 *
 *     ask, keysChanged, reload →  {"answer":…}                                        or {"error":…}
 *     tool                     →  {"ready":true}, the tool's own lines, {"end":true}  or {"error":…} at any time
 *
 * A tool's input follows the request, but only once the tool is ready.
 *
 * Both ends treat what arrives as untrusted: nothing is used before it is validated. A request must match exactly; an
 * answer may have unknown members, since the service may run another version. Nothing here reads or writes a
 * connection.
 */
import { isAbsolute } from 'node:path'
import type { KeyRecord } from '../../keys/record.js'
import { progressPrefix } from '../../tools/progress.js'
import type { BackupLine, CheckLine, ImportedLine, ProgressLine } from '../../tools/tool-messages.js'
import { isBackupLine, isCheckLine, isImportedLine, isProgressLine } from '../../tools/validators.js'
import { type Path, parsePath } from '../../topics/path.js'
import type { AnswerLine, ControlRequest, KeyAnswer, Reloaded } from './messages.js'
import { isAnswerLine, isErrorLine, isKeyAnswer, isReloaded, validateControlRequest } from './validators.js'

/** Why a line is not a request, in a sentence without any text that the sender chose: that may contain secrets. */
interface RequestProblem {
  readonly problem: string
}

/** How the message of a request begins that was refused because of its form. */
const malformedStart = 'the request is malformed'

/** The service refused a request because of its form, and did nothing: perhaps it is of an earlier version. */
export class MalformedRequest extends Error {}

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
  const validation = validateControlRequest(input)
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

/** The last step of a validation path: of an unknown member's path, the only step that the sender chose. */
const lastStep = /(\.[\w$]+|\["(\\.|[^"\\])*"\])$/

function problemOf({ path, expected }: { readonly path?: string; readonly expected?: string } = {}): string {
  if (path === undefined || expected === undefined) return malformedStart
  const isUnknown = expected === 'undefined'
  const member = (isUnknown ? path.replace(lastStep, '') : path).replace(/^\$input\.?/, '')
  const subject = member === '' ? 'it' : member
  if (isUnknown) return `${malformedStart}: ${subject} has an unknown member`
  // For a union, typia names only our types, which mean nothing to the sender.
  return `${malformedStart}: ${subject} must be ${expected.startsWith('(') ? 'of a known form' : expected}`
}

/** A record whose subtrees are normalized paths. */
function checkRecord(record: KeyRecord<string>): KeyRecord | RequestProblem {
  const wrong = record.under.findIndex((text) => parsePath(text) !== text)
  if (wrong >= 0) return { problem: `${malformedStart}: question.record.under[${wrong}] must be a normalized path` }
  return { ...record, under: record.under as readonly Path[] }
}

/** From now on the tool reads its input. */
export const readyLine = '{"ready":true}'

/** The tool has done all of its work. */
export const endLine = '{"end":true}'

/** A request's line, without its end, as all lines here. */
export function requestLine(request: ControlRequest): string {
  return JSON.stringify(request)
}

/** The line that answers a question or a reload. @param late workers that may still serve by former API keys */
export function answerLine(answer: unknown, late: readonly number[] = []): string {
  return JSON.stringify({ answer, late: late.length > 0 ? late : undefined })
}

/** The line that reports a failure. @param message for the user of the command line */
export function errorLine(message: string): string {
  return JSON.stringify({ error: message })
}

const errorLineStart = '{"error":'

/** The message of an error line; undefined for any other line. */
export function errorIn(line: string): string | undefined {
  return line.startsWith(errorLineStart) ? checked(JSON.parse(line), isErrorLine).error : undefined
}

/**
 * An answer line; what it answers is unchecked.
 *
 * @throws Error with the message of an error line, a MalformedRequest if the request's form was refused
 */
function answerIn(line: string): AnswerLine {
  const error = errorIn(line)
  if (error?.startsWith(malformedStart)) throw new MalformedRequest(error)
  if (error !== undefined) throw new Error(error)
  return checked(JSON.parse(line), isAnswerLine)
}

/** The answer to a reload. @throws Error with the message of an error line, or when it is no such answer */
export function reloadedIn(line: string): Reloaded {
  return checked(answerIn(line).answer, isReloaded)
}

/**
 * The answer to a question about keys.
 *
 * @throws Error with the message of an error line, or when it is no such answer
 */
export function keyAnswerIn(line: string): KeyAnswer {
  const { answer, late = [] } = answerIn(line)
  return { answer: checked(answer, isKeyAnswer) as KeyAnswer['answer'], late }
}

/** The last line of a backup. @throws Error when it has another form */
export function backupIn(line: string): BackupLine['backup'] {
  return checked(JSON.parse(line), isBackupLine).backup
}

/** A line of a check: a finding, or the counts. @throws Error when it has another form */
export function checkLineIn(line: string): CheckLine {
  return checked(JSON.parse(line), isCheckLine)
}

/** The last line of an import. @throws Error when it has another form */
export function importedIn(line: string): ImportedLine['imported'] {
  return checked(JSON.parse(line), isImportedLine).imported
}

/** The progress of a tool; undefined for a line that is not about progress. @throws Error when it has another form */
export function progressIn(line: string): ProgressLine['progress'] | undefined {
  return line.startsWith(progressPrefix) ? checked(JSON.parse(line), isProgressLine).progress : undefined
}

/** @throws Error when the input does not have the form that this version knows */
function checked<T>(input: unknown, isValid: (input: unknown) => input is T): T {
  if (isValid(input)) return input
  throw new Error('the answer has an unknown form; the service may run another version of topicd')
}
