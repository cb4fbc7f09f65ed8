/**
 * Requests that a service should survive: real ones of several clients and random ones, with bodies in one piece or in
 * chunks, half of them mutated byte by byte, and half of them cut into two pieces, of which the second may never come.
 */

import type { Random } from '../random.js'
import { bodyFor } from './hostile-bodies.js'
import { oddText, type Route, routes } from './valid-bodies.js'

/** What the request was before it was mutated, if it was. */
interface Origin {
  readonly bytes: Buffer
  /** Of a request to one of the routes, with a known key. */
  readonly route: Route | undefined
  /** Whether it asks for a page by GET, or for its permissions by OPTIONS. */
  readonly isPage: boolean
  readonly isChunked: boolean
  /** Whether it asks for its connection to be closed. */
  readonly closes: boolean
  /** Whether nothing is wrong with it: a service carries it out, or refuses it for what is stored. */
  readonly isValid: boolean
}

export interface HostileRequest extends Origin {
  readonly isMutated: boolean
  /** What is sent first. */
  readonly begin: Buffer
  /** What is sent later, if anything. */
  readonly rest: Buffer
  /** In one piece; in two pieces; without the second of them; with a reset of the connection in its place. */
  readonly sent: 'whole' | 'cut' | 'lost' | 'reset'
}

/** The headers that clients send beside those of the body. */
const clients: readonly (readonly string[])[] = [
  [],
  ['user-agent: curl/7.88.1', 'accept: */*'],
  ['user-agent: Go-http-client/1.1', 'accept-encoding: gzip'],
  ['user-agent: python-requests/2.32.3', 'accept-encoding: gzip, deflate, br', 'accept: */*', 'connection: keep-alive'],
  ['user-agent: okhttp/4.12.0', 'accept-encoding: gzip', 'connection: Keep-Alive'],
  ['origin: http://localhost:3000', 'sec-fetch-mode: cors', 'referer: http://localhost:3000/'],
  ['accept: application/json', 'connection: close'],
  ['x-forwarded-for: 192.0.2.7', 'x-request-id: 7', 'via: 1.1 proxy', 'cookie: a=b; c=d'],
]

const pages: readonly string[] = [
  'GET /openapi.json HTTP/1.1',
  'GET /console HTTP/1.1',
  'GET /console/key HTTP/1.1',
  'GET /healthz HTTP/1.1',
  'OPTIONS /topics/fetch HTTP/1.1',
  'GET /topics/fetch HTTP/1.1',
  'GET / HTTP/1.1',
]

/** @param token of a key that may do what hostile requests may do */
export function hostileRequest(random: Random, token: string): HostileRequest {
  const origin = wellFormed(random, token)
  const isMutated = random.oneIn(2)
  const bytes = isMutated ? mutated(random, origin.bytes) : origin.bytes
  const nothing = Buffer.alloc(0)
  if (bytes.length < 2 || !random.oneIn(2)) return { ...origin, isMutated, begin: bytes, rest: nothing, sent: 'whole' }
  const sent = random.pick(['cut', 'cut', 'lost', 'reset'] as const)
  // A body in chunks is whole with the line of its last chunk, before the empty line.
  const lineEnds = origin.isChunked && sent !== 'cut' ? '\r\n\r\n'.length : 1
  const at = 1 + random.below(Math.max(1, bytes.length - lineEnds))
  return {
    ...origin,
    isMutated,
    begin: bytes.subarray(0, at),
    rest: sent === 'cut' ? bytes.subarray(at) : nothing,
    sent,
  }
}

function wellFormed(random: Random, token: string): Origin {
  const isKnown = !random.oneIn(20)
  const headers = ['host: topicd', `authorization: Apikey ${isKnown ? token : 'unknown'}`, ...random.pick(clients)]
  const closes = headers.includes('connection: close')
  const origin = { route: undefined, isPage: false, isChunked: false, closes, isValid: false }
  if (random.oneIn(20))
    return { ...origin, bytes: Buffer.from([random.pick(pages), ...headers, '', ''].join('\r\n')), isPage: true }
  const route = random.pick(routes)
  const isRoute = !random.oneIn(20)
  const path = isRoute ? `/topics/${route}` : `/${oddText(random).replaceAll(/[\s\0]/g, '')}`
  const { text, isValid } = bodyFor(random, route)
  const body = Buffer.from(text)
  const isChunked = random.oneIn(3)
  const lines = [
    `POST ${path} HTTP/1.1`,
    ...headers,
    'content-type: application/json',
    isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`,
    '',
    '',
  ]
  const bytes = Buffer.concat([Buffer.from(lines.join('\r\n')), isChunked ? chunked(random, body) : body])
  if (!isRoute || !isKnown) return { ...origin, bytes, isChunked }
  return { ...origin, bytes, route, isChunked, isValid }
}

/** The body in chunks of random sizes. */
function chunked(random: Random, body: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const piece = body.subarray(at, at + 1 + random.below(random.oneIn(2) ? 20 : 2000))
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
    at += piece.length
  }
  return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')])
}

/** A request with some bytes replaced, dropped, inserted or repeated, or broken off. */
function mutated(random: Random, bytes: Buffer): Buffer {
  let result = Buffer.from(bytes)
  for (let times = 1 + random.below(4); times > 0; times--) {
    const at = random.below(result.length || 1)
    const before = result.subarray(0, at)
    const rest = result.subarray(at)
    switch (random.below(5)) {
      case 0:
        result[at] = random.below(256)
        break
      case 1:
        result = Buffer.concat([before, rest.subarray(1 + random.below(10))])
        break
      case 2:
        result = Buffer.concat([
          before,
          Buffer.from(random.pick(['\r\n', '\n', ': ', '\0', ' ', ',', '0', 'é', '\r\n0\r\n\r\n'])),
          rest,
        ])
        break
      case 3:
        result = Buffer.concat([before, rest.subarray(0, 20), rest])
        break
      case 4:
        result = before
        break
    }
  }
  return result
}
