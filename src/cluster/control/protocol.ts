/**
 * The protocol between the command line, or a worker, and the running service, over the control socket: every request, every
 * line of a response, and their readers. The first line of a connection is its only request; the response is one or more lines.
 *
 *     tool         →  {"ready":true}, the tool's own lines, {"end":true}  or {"error":…} at any time
 *     every other  →  {"response":…}                                      or {"error":…}
 *
 * A tool's input follows the request, but only once the tool is ready.
 *
 * Both ends distrust their input and validate it before use. A request must match exactly; a response may have unknown
 * members, because the service may run another version. Nothing here reads or writes a connection.
 */
import { isAbsolute } from 'node:path'
import { isKeyName, type KeyRecord, keyNameForm } from '../../keys/record.js'
import { type KeyRequest, NothingDone } from '../../keys/requests.js'
import { progressPrefix } from '../../tools/progress.js'
import type { ProgressLine } from '../../tools/tool-messages.js'
import { isProgressLine } from '../../tools/validators.js'
import { parsePath } from '../../topics/path.js'
import type { ControlRequest, ResponseLine, Responses } from './messages.js'
import { isErrorLine, isResponseLine, validateControlRequest } from './validators.js'

/** A sentence that contains no text from the sender, because such text may contain secrets. */
interface RequestProblem {
  readonly problem: string
}

const malformedStart = 'the request is malformed'

/** The service rejected the form of a request: it may run an earlier version. */
export class MalformedRequest extends NothingDone {}

/** Rejects invalid UTF-8, and keeps a byte order mark, which is not JSON. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @param line the first line of a connection, without its newline @returns a request with every member checked */
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
  if (request.command === 'addKey') return checkRecord(request.record) ?? (request as KeyRequest)
  if (request.command === 'tool' && request.tool === 'backup' && !isAbsolute(request.options.file)) {
    return { problem: `${malformedStart}: options.file must be an absolute path` }
  }
  return request
}

/** The last step of a validation path. In the path of an unknown member, this is the only step that the sender chose. */
const lastStep = /(\.[\w$]+|\["(\\.|[^"\\])*"\])$/

function problemOf({ path, expected }: { readonly path?: string; readonly expected?: string } = {}): string {
  if (path === undefined || expected === undefined) return malformedStart
  const isUnknown = expected === 'undefined'
  const member = (isUnknown ? path.replace(lastStep, '') : path).replace(/^\$input\.?/, '')
  const subject = member === '' ? 'it' : member
  if (isUnknown) return `${malformedStart}: ${subject} has an unknown member`
  if (!expected.startsWith('(')) return `${malformedStart}: ${subject} must be ${expected}`
  // For a union, typia gives only the names of our types, which mean nothing to the sender.
  return `${malformedStart}: ${member === '' ? 'it does not match any known command' : `${member} is invalid`}`
}

/** Checks the name of a key to add, and that its subtrees are normalised paths. */
function checkRecord(record: KeyRecord<string>): RequestProblem | undefined {
  if (!isKeyName(record.name)) return { problem: `${malformedStart}: record.name must be ${keyNameForm}` }
  const wrong = record.under.findIndex((text) => parsePath(text) !== text)
  if (wrong >= 0) return { problem: `${malformedStart}: record.under[${wrong}] must be a normalised path` }
  return undefined
}

/** Tells the caller that the tool will now read its input. */
export const readyLine = '{"ready":true}'

export const endLine = '{"end":true}'

/** Without a newline, like all lines here. */
export function requestLine(request: ControlRequest): string {
  return JSON.stringify(request)
}

/** Omits `late` if it is empty. */
export function responseLine({ response, late = [] }: ResponseLine): string {
  return JSON.stringify({ response, late: late.length > 0 ? late : undefined })
}

/** @param failure an error with a message for the user of the command line */
export function errorLine(failure: Error): string {
  return JSON.stringify({ error: failure.message, nothingDone: failure instanceof NothingDone ? true : undefined })
}

const errorLineStart = '{"error":'

/**
 * Returns the failure of an error line: NothingDone if the line has that flag, MalformedRequest if the request's form was
 * rejected; undefined for any other line.
 *
 * @throws Error if an error line has an unknown form
 */
export function failureIn(line: string): Error | undefined {
  if (!line.startsWith(errorLineStart)) return undefined
  const { error, nothingDone } = checked(JSON.parse(line), isErrorLine)
  if (error.startsWith(malformedStart)) return new MalformedRequest(error)
  return nothingDone === true ? new NothingDone(error) : new Error(error)
}

/** @throws Error if the line is an error line (see `failureIn`) or not a response to this command */
export function parseResponse<Command extends keyof Responses>(command: Command, line: string): ResponseLine<Command> {
  const failure = failureIn(line)
  if (failure !== undefined) throw failure
  return checkedResponse(command, JSON.parse(line))
}

/** Narrows the type of the line. @throws Error if it is not a response to this command */
export function checkedResponse<Command extends keyof Responses>(
  command: Command,
  line: ResponseLine,
): ResponseLine<Command> {
  return checked(line, isResponseLine[command])
}

/** A line from a tool. @param isValid a validator from tools/validators.ts @throws Error if the line has another form */
export function toolLine<Line>(line: string, isValid: (input: unknown) => input is Line): Line {
  return checked(JSON.parse(line), isValid)
}

/** Undefined for a line that is not about progress. @throws Error if a progress line has another form */
export function progressIn(line: string): ProgressLine['progress'] | undefined {
  return line.startsWith(progressPrefix) ? toolLine(line, isProgressLine).progress : undefined
}

/** @throws Error if the input does not have the form that this version knows */
function checked<T>(input: unknown, isValid: (input: unknown) => input is T): T {
  if (isValid(input)) return input
  throw new Error('the response is not in a known format; the service may be running another version of topicd')
}
