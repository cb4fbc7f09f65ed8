/**
 * Requests that a service should survive: real ones of several clients and random ones, with bodies in one piece or in
 * chunks, half of them mutated byte by byte, and half of them cut into two pieces, of which the second may never come.
 */
import { bodyFor, oddText, routes } from './hostile-bodies.js'
import type { Random } from './random.js'

export interface HostileRequest {
  /** What is sent first. */
  readonly begin: Buffer
  /** What is sent later, if anything. */
  readonly rest: Buffer
  /** Whether it is a whole request, every byte of which is sent, so that it must be answered. */
  readonly isWhole: boolean
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
  const whole = wellFormed(random, token)
  const isMutated = random.oneIn(2)
  const bytes = isMutated ? mutated(random, whole) : whole
  if (!random.oneIn(2)) return { begin: bytes, rest: Buffer.alloc(0), isWhole: !isMutated }
  const at = random.below(bytes.length + 1)
  const isLost = random.oneIn(2) && at < bytes.length
  return {
    begin: bytes.subarray(0, at),
    rest: isLost ? Buffer.alloc(0) : bytes.subarray(at),
    isWhole: !isMutated && !isLost,
  }
}

function wellFormed(random: Random, token: string): Buffer {
  const headers = [
    'host: topicd',
    `authorization: Apikey ${random.oneIn(20) ? 'unknown' : token}`,
    ...random.pick(clients),
  ]
  if (random.oneIn(20)) return Buffer.from([random.pick(pages), ...headers, '', ''].join('\r\n'))
  const name = random.pick(routes)
  const route = random.oneIn(20) ? `/${oddText(random).replaceAll(/[\s\0]/g, '')}` : `/topics/${name}`
  const body = Buffer.from(bodyFor(random, name))
  const isChunked = random.oneIn(3)
  const lines = [
    `POST ${route} HTTP/1.1`,
    ...headers,
    'content-type: application/json',
    isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`,
    '',
    '',
  ]
  return Buffer.concat([Buffer.from(lines.join('\r\n')), isChunked ? chunked(random, body) : body])
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
