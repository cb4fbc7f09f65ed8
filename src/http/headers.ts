/**
 * The headers of a request, read in one pass: the few that matter, and whether its framing is beyond doubt. The pass costs a
 * microsecond, most of it strings that the library makes; asking for single headers would not show that one is repeated.
 */
import type { HttpRequest } from 'uWebSockets.js'

/** What one pass finds. Reused for every request: headers are read and judged in one go. */
export const seen = { authorization: '', contentType: '', contentLength: '', contentLengths: 0, transferEncoding: false }

function see(name: string, value: string): void {
  switch (name) {
    case 'authorization':
      seen.authorization = value
      break
    case 'content-type':
      seen.contentType = value
      break
    case 'content-length':
      seen.contentLength = value
      seen.contentLengths++
      break
    case 'transfer-encoding':
      seen.transferEncoding = true
      break
  }
}

/** Reads the request's headers into `seen`. */
export function readHeaders(req: HttpRequest): void {
  seen.authorization = seen.contentType = seen.contentLength = ''
  seen.contentLengths = 0
  seen.transferEncoding = false
  req.forEach(see)
}

const digits = /^\d{1,15}$/
const json = /^application\/json[ \t]*(;|$)/i

/**
 * Whether what was seen leaves no doubt where the request ends. Anything else may be a smuggler's: another reader of the same
 * bytes could find another request in them.
 *
 * @param bodyNeeded whether there must be a content-length
 */
export function isFramingSound(bodyNeeded: boolean): boolean {
  const { transferEncoding, contentLengths, contentLength } = seen
  if (transferEncoding || contentLengths > 1) return false
  return contentLengths === 0 ? !bodyNeeded : digits.test(contentLength)
}

export function isJson(): boolean {
  return json.test(seen.contentType)
}
