/** Heads of answers, without the headers that the library adds. Bodies are in response.ts, ends in closing.ts. */

import type { HttpResponse } from 'uWebSockets.js'
import { STATUS_CODES } from 'node:http'
import type { Answer } from './answer.js'
import type { OriginHeaders } from './cors.js'

/** As bytes, which the library copies; it would convert a string for every answer. */
const contentTypeName = Buffer.from('content-type')
const contentTypeJson: Uint8Array | string = Buffer.from('application/json')

function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status]}`
}

export interface Headed {
  readonly res: HttpResponse
  /** True if a 100 has been sent, which the library took for the status line. */
  continued: boolean
  /** Undefined without a policy on origins. */
  originHeaders: OriginHeaders | undefined
}

/** The library has no call for it: the status line is a 100 and an empty line; the real one precedes a header name. */
export function sendContinue(headed: Headed): void {
  headed.res.writeStatus('100 Continue\r\n')
  headed.continued = true
}

/** Writes the head, to which the library adds the length when the body is sent. */
export function writeHead({ res, originHeaders, continued }: Headed, answer: Answer): void {
  const { status, headers, contentType = contentTypeJson } = answer
  if (continued) res.writeHeader(`HTTP/1.1 ${statusLine(status)}\r\ncontent-type`, contentType)
  else {
    if (status !== 200) res.writeStatus(statusLine(status))
    if (lengthOf(answer) > 0 || answer.stream !== undefined) res.writeHeader(contentTypeName, contentType)
  }
  if (originHeaders !== undefined) for (const [name, value] of originHeaders) res.writeHeader(name, value)
  if (headers !== undefined) for (const [name, value] of headers) res.writeHeader(name, value)
}

/**
 * Writes a head that no body follows, and that ends the connection. The library's own calls for that complete the
 * answer, so that it closes the connection, and they differ between its versions. So the end of the head is a part of
 * its last header, and for the library the answer has not been completed.
 */
export function writeWholeHead(headed: Headed, answer: Answer): void {
  writeHead(headed, answer)
  headed.res.writeHeader('date', new Date().toUTCString())
  // By RFC 9110, section 8.6: none in a 204, and in a 304 only that of the body which is left out.
  const isWithoutLength = answer.status === 204 || answer.status === 304
  const length = isWithoutLength ? '' : `content-length: ${lengthOf(answer)}\r\n`
  headed.res.writeHeader('connection', `close\r\n${length}`)
}

/** The length of the body, or of the one that an answer to HEAD leaves out. */
function lengthOf({ body, bodyBytesUnsent }: Answer): number {
  return bodyBytesUnsent ?? body.length
}
