/** Response heads, without the headers that the library adds. response.ts sends bodies; closing.ts closes connections. */

import type { HttpResponse } from 'uWebSockets.js'
import { STATUS_CODES } from 'node:http'
import type { Answer } from './answer.js'
import type { OriginHeaders } from './cors.js'

/** As bytes, which the library copies; it would convert a string for every response. */
const contentTypeName = Buffer.from('content-type')
const contentTypeJson: Uint8Array | string = Buffer.from('application/json')

function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status]}`
}

export interface Headed {
  readonly res: HttpResponse
  /** True if a 100 has been sent, which the library takes for the status line. */
  continued: boolean
  /** Undefined without a policy on origins. */
  originHeaders: OriginHeaders | undefined
}

/** The library has no call for a 100, so the 100 replaces the status line; `writeHead` puts the real one before a header name. */
export function sendContinue(headed: Headed): void {
  headed.res.writeStatus('100 Continue\r\n')
  headed.continued = true
}

/** Writes the head. The library adds the length when the body is sent. */
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
 * Writes a head without a body, for a connection that then closes. The library's own calls for this complete the
 * response, so the library closes the connection, and the calls differ between versions of the library. So the end of
 * the head is written as part of its last header, and the library does not consider the response complete.
 */
export function writeWholeHead(headed: Headed, answer: Answer): void {
  writeHead(headed, answer)
  headed.res.writeHeader('date', new Date().toUTCString())
  // RFC 9110, section 8.6: a 204 has no content-length; a 304 may only have the length of the omitted body.
  const isWithoutLength = answer.status === 204 || answer.status === 304
  const length = isWithoutLength ? '' : `content-length: ${lengthOf(answer)}\r\n`
  headed.res.writeHeader('connection', `close\r\n${length}`)
}

/** The length of the body, or of the body omitted in the response to a HEAD request. */
function lengthOf({ body, bodyBytesUnsent }: Answer): number {
  return bodyBytesUnsent ?? body.length
}
