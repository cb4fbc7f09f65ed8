/**
 * Sends answers: status line, headers, body. It decides which of the library's two ways a body goes, so that what clients do
 * not read stays within a bound; requests and their state are not its business.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { answerBytesSmallMax, answersPerProbe } from '../limits.js'
import type { Answer } from './answer.js'
import type { Incoming } from './linger.js'
import type { Unread } from './unread.js'

/** As bytes: the library copies them as they are, while a string is converted anew for every answer. */
const contentTypeName = Buffer.from('content-type')
const contentTypeJson = Buffer.from('application/json')

const statusLines: Readonly<Record<number, string>> = {
  200: '200 OK',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  411: '411 Length Required',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  417: '417 Expectation Failed',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
  507: '507 Insufficient Storage',
}

/** Where an answer goes. */
interface Receiver extends Incoming {
  readonly res: HttpResponse
  continued: boolean
}

/**
 * Tells the client to go on with its body. The library can say so, but not to everyone, and it has no call for it: so the
 * status line is a 100 with the empty line behind it, and the real one comes later, before the first header's name.
 */
export function sendContinue(receiver: Receiver): void {
  receiver.res.writeStatus('100 Continue\r\n')
  receiver.continued = true
}

/**
 * Sends an answer; one that is `closing` ends its connection once the client has taken all of it and stopped sending, within
 * bounds. The caller sees to it that the library gathers what is written.
 */
export function sendAnswer(receiver: Receiver, answer: Answer, closing: boolean, unread: Unread): void {
  const { res } = receiver
  const { status, body, headers } = answer
  if (receiver.continued) res.writeHeader(`HTTP/1.1 ${statusLines[status]}\r\ncontent-type`, contentTypeJson)
  else {
    if (status !== 200) res.writeStatus(statusLines[status])
    res.writeHeader(contentTypeName, contentTypeJson)
  }
  if (headers !== undefined) for (const [name, value] of headers) res.writeHeader(name, value)
  if (closing) return sendLast(receiver, answer, unread)
  if (body.length <= answerBytesSmallMax && Math.random() > 1 / answersPerProbe) res.end(body)
  else unread.send(res, bytesOf(body))
}

/** Sends the body of an answer that ends its connection. */
function sendLast(receiver: Receiver, { body, bodyBytesUnsent }: Answer, unread: Unread): void {
  const isSmall = body.length <= answerBytesSmallMax && bodyBytesUnsent === undefined
  // The library closes at once.
  if (isSmall && receiver.bodyEnded) receiver.res.end(body, true)
  else unread.sendAndClose(receiver, bytesOf(body), bodyBytesUnsent)
}

function bytesOf(body: Uint8Array | string): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body
}
