/**
 * Reads the headers of a request in one pass: keeps the few that matter, and checks that they frame the request unambiguously.
 * The pass costs a microsecond, mostly for strings that the library creates; looking headers up by name would not
 * reveal repeated ones. Nothing here chooses a response.
 */
import type { HttpRequest } from 'uWebSockets.js'

/** Reused for every request, because headers are read and used before anything else runs. */
export const seen = {
  accept: '',
  acceptEncoding: '',
  authorization: '',
  lastEventId: '',
  contentType: '',
  /** The last content-encoding other than `identity`; empty if missing. */
  contentEncoding: '',
  contentLength: '',
  contentLengths: 0,
  transferEncoding: '',
  transferEncodings: 0,
  connections: 0,
  /** True if the connection closes with the response: the client wants it, or `libraryCloses`. */
  close: false,
  /** True if the library thinks that the client wants to close; the library then closes with the response, and adds no header. */
  libraryCloses: false,
  /** True if the client waits for a 100 that the library does not send, because the expectation is not in lower case. */
  continueExpected: false,
  unknownExpectation: false,
}

const identity = /^(identity)?$/i
const notAscii = /[^\x20-\x7e]/

/** In the first `connection` header, the library takes any value with this many bytes for "close". */
const closeBytes = 'close'.length

/** The library answers this expectation with 100 before the request's handler runs, if it is in lower case. */
const metExpectation = '100-continue'

const closeOption = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i

const anyCaseContinue = /^100-continue$/i

function see(name: string, value: string): void {
  switch (name) {
    case 'authorization':
      seen.authorization = value
      break
    case 'accept':
      seen.accept = listed(seen.accept, value)
      break
    case 'accept-encoding':
      seen.acceptEncoding = listed(seen.acceptEncoding, value)
      break
    case 'last-event-id':
      seen.lastEventId = value
      break
    case 'content-type':
      seen.contentType = value
      break
    case 'content-length':
      seen.contentLength = value
      seen.contentLengths++
      break
    case 'content-encoding':
      if (!identity.test(value)) seen.contentEncoding = value
      break
    case 'transfer-encoding':
      seen.transferEncoding = value
      seen.transferEncodings++
      break
    case 'connection':
      // A value with fewer characters than "close" may have as many bytes.
      if (seen.connections++ === 0)
        seen.libraryCloses = value.length === closeBytes || (value.length < closeBytes && notAscii.test(value))
      seen.close ||= seen.libraryCloses || closeOption.test(value)
      break
    case 'expect':
      if (value === metExpectation) break
      if (anyCaseContinue.test(value)) seen.continueExpected = true
      else seen.unknownExpectation = true
      break
  }
}

function listed(list: string, line: string): string {
  return list === '' ? line : `${list},${line}`
}

export function readHeaders(req: HttpRequest): void {
  seen.accept =
    seen.acceptEncoding =
    seen.lastEventId =
    seen.authorization =
    seen.contentType =
    seen.contentEncoding =
    seen.contentLength =
    seen.transferEncoding =
      ''
  seen.contentLengths = seen.transferEncodings = seen.connections = 0
  seen.close = seen.libraryCloses = seen.continueExpected = seen.unknownExpectation = false
  req.forEach(see)
}

/** The way in which the headers mark the end of a request; `invalid` if another parser could find a different end. */
type Framing = 'length' | 'chunked' | 'none' | 'invalid'

const digits = /^\d{1,15}$/
const chunked = /^chunked$/i
const json = /^application\/json[ \t]*(;|$)/i
const lines = /^application\/x-ndjson[ \t]*(;|$)/i

export function framingOfSeen(): Framing {
  const { contentLength, contentLengths, transferEncoding, transferEncodings } = seen
  if (transferEncodings > 0) {
    return transferEncodings === 1 && contentLengths === 0 && chunked.test(transferEncoding) ? 'chunked' : 'invalid'
  }
  if (contentLengths === 0) return 'none'
  return contentLengths === 1 && digits.test(contentLength) ? 'length' : 'invalid'
}

export function isJson(): boolean {
  return json.test(seen.contentType)
}

export function isLines(): boolean {
  return lines.test(seen.contentType)
}
