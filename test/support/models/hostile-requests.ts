/**
 * Requests that a service must survive: the examples of its API description and variations of them, in the style of several clients, with
 * bodies in one piece or in chunks. Half of them are mutated byte by byte, and half are cut into two pieces, of which the second may never
 * arrive.
 */
import type { Random } from '../random.js'
import type { Json, JsonObject } from './documented-answers.js'

/** The request before any mutation. */
interface Origin {
  readonly bytes: Buffer
  /** A valid or changed example; a request with an unknown key; a request to another path; a page. */
  readonly kind: 'valid' | 'changed' | 'unauthorized' | 'elsewhere' | 'page'
  /** The route, such as `/topics/set`, if the request has a described one. */
  readonly route: string | undefined
  readonly body: string
  readonly isChunked: boolean
  /** Whether the request asks for its connection to be closed. */
  readonly closes: boolean
}

export interface HostileRequest extends Origin {
  readonly isMutated: boolean
  /** The bytes that are sent first. */
  readonly begin: Buffer
  /** The bytes that are sent later, possibly none. */
  readonly rest: Buffer
  /** In one piece; in two pieces; without the second piece; with a connection reset in place of the second piece. */
  readonly sent: 'whole' | 'cut' | 'lost' | 'reset'
}

/** Headers that clients send in addition to those of the body. */
const clients: readonly (readonly string[])[] = [
  [],
  ['user-agent: curl/7.88.1', 'accept: */*'],
  ['user-agent: python-requests/2.32.3', 'accept-encoding: gzip, deflate, br', 'accept: */*', 'connection: keep-alive'],
  ['user-agent: okhttp/4.12.0', 'accept-encoding: gzip', 'connection: Keep-Alive'],
  ['origin: http://localhost:3000', 'sec-fetch-mode: cors', 'referer: http://localhost:3000/'],
  ['accept: application/json', 'connection: close'],
  ['x-forwarded-for: 192.0.2.7', 'x-request-id: 7', 'via: 1.1 proxy', 'cookie: a=b; c=d'],
]

/** Requests that are not among the examples. */
const moreRequests: Readonly<Record<string, readonly JsonObject[]>> = {
  '/topics/set': [{ path: 'plant/7/temp', increment: -0.5 }],
  '/topics/fetch': [{ selector: '?plant//', with_version: true }],
}

const oddPieces = ['a', '/', '//', '\0', 'é', '\ud800', '😀', '"', '\\', '.', '*', '?', ' ', 'x'.repeat(3000)]

/** Strings that are not JSON values, or values that most members reject. */
const oddTexts = [
  ...['', 'tru', 'NaN', '01', '+1', '.5', '1e', '-', '"', '"\\', '"\\u12', '"\u0001"', '['.repeat(1001)],
  ...['{"a":1,"a":1}'],
  ...['{}', '[]', '-1', '1001', '1.0', '"1"', '"json"', '9'.repeat(1000), '9007199254740992', '""', '"\\ud800"'],
  ...['"?(a+)+b"', '"*["', '"#"', '"$"', '"?a{1000}"', '"?\\\\Q"', '"*\\\\p{L}//"', '"#a////?plant/"', '"?.*//"'],
]

/** Marks the start of a string that `write` writes verbatim, without quotes. */
const mark = '\ue000'
const raw = (text: string): string => mark + text

/** A JSON text, except for values marked as raw. */
function write(json: Json): string {
  return JSON.stringify(json).replaceAll(/"\ue000((?:[^"\\]|\\.)*)"/g, (_, text) => JSON.parse(`"${text}"`))
}

/** Text that services often handle incorrectly. */
function oddText(random: Random): string {
  return Array.from({ length: random.below(6) }, () => random.pick(oddPieces)).join('')
}

/** Any JSON value. */
function anyJson(random: Random, depth = 0): Json {
  const members = Array.from({ length: random.below(depth > 4 ? 1 : 4) })
  switch (random.below(5)) {
    case 0:
      return raw(random.pick(['null', 'true', 'false', '0', '-0', '1e400', '1.10', '12345678901234567890', '-1E-7']))
    case 1:
      return oddText(random)
    case 2:
      return depth > 0 ? [] : raw('['.repeat(1000) + ']'.repeat(1000))
    case 3:
      return members.map(() => anyJson(random, depth + 1))
    default:
      return Object.fromEntries(members.map(() => [oddText(random), anyJson(random, depth + 1)]))
  }
}

export class HostileRequests {
  readonly #random: Random
  readonly #token: string
  readonly #examples: ReadonlyMap<string, readonly JsonObject[]>
  /** The members of all examples. */
  readonly #members: readonly (readonly [name: string, member: Json])[]

  /** @param token of a key with every permission that the examples need */
  constructor(random: Random, token: string, examples: ReadonlyMap<string, readonly JsonObject[]>) {
    this.#random = random
    this.#token = token
    this.#examples = new Map([...examples].map(([route, shown]) => [route, [...shown, ...(moreRequests[route] ?? [])]]))
    this.#members = [...this.#examples.values()].flat().flatMap(membersOf)
  }

  next(): HostileRequest {
    const random = this.#random
    const origin = this.#wellFormed()
    const isMutated = random.oneIn(2)
    const bytes = isMutated ? mutated(random, origin.bytes) : origin.bytes
    const nothing = Buffer.alloc(0)
    if (bytes.length < 2 || random.oneIn(2)) return { ...origin, isMutated, begin: bytes, rest: nothing, sent: 'whole' }
    const sent = random.pick(['cut', 'cut', 'lost', 'reset'] as const)
    // A chunked body is complete with the line of its last chunk, before the empty line.
    const lineEnds = origin.isChunked && sent !== 'cut' ? '\r\n\r\n'.length : 1
    const at = 1 + random.below(Math.max(1, bytes.length - lineEnds))
    const rest = sent === 'cut' ? bytes.subarray(at) : nothing
    return { ...origin, isMutated, begin: bytes.subarray(0, at), rest, sent }
  }

  #wellFormed(): Origin {
    const random = this.#random
    const isKnown = !random.oneIn(20)
    const headers = ['host: topicd', `authorization: Apikey ${isKnown ? this.#token : 'unknown'}`]
    headers.push(...random.pick(clients))
    const closes = headers.includes('connection: close')
    if (random.oneIn(20)) {
      const route = random.pick(['/openapi.json', '/healthz'])
      const bytes = Buffer.from([`GET ${route} HTTP/1.1`, ...headers, '', ''].join('\r\n'))
      return { bytes, kind: 'page', route, body: '', isChunked: false, closes }
    }
    const [route, shown] = random.pick([...this.#examples])
    const isRoute = !random.oneIn(20)
    const isValid = random.oneIn(2)
    const example = random.pick(shown)
    const body = write(isValid ? this.#withValues(example) : this.#changed(example))
    const bytes = Buffer.from(body)
    const isChunked = random.oneIn(3)
    const lines = [
      `POST ${isRoute ? route : `/${oddText(random).replaceAll(/[\s\0]/g, '')}`} HTTP/1.1`,
      ...headers,
      'content-type: application/json',
      isChunked ? 'transfer-encoding: chunked' : `content-length: ${bytes.length}`,
      '',
      '',
    ]
    const whole = Buffer.concat([Buffer.from(lines.join('\r\n')), isChunked ? chunked(random, bytes) : bytes])
    const common = { bytes: whole, body, isChunked, closes }
    if (!isRoute) return { ...common, kind: 'elsewhere', route: undefined }
    return { ...common, kind: isKnown ? (isValid ? 'valid' : 'changed') : 'unauthorized', route }
  }

  /** The same request with other values for its topics. */
  #withValues(json: Json): Json {
    if (typeof json !== 'object' || json === null || this.#random.oneIn(3)) return json
    if (Array.isArray(json)) return json.map((item) => this.#withValues(item))
    const { value, type } = json as JsonObject
    const members = Object.entries(json).map(([name, member]) => [name, this.#withValues(member)])
    const isFree = value !== undefined && type !== 'string'
    return { ...Object.fromEntries(members), ...(isFree && { value: anyJson(this.#random) }) }
  }

  /** The request changed in one or more places; most of these changes make it invalid. */
  #changed(json: Json): Json {
    const change = (): Json => this.#changedOnce(json)
    return this.#random.oneIn(3) ? this.#changed(change()) : change()
  }

  #changedOnce(json: Json): Json {
    const random = this.#random
    const names = typeof json === 'object' && json !== null ? Object.keys(json) : []
    if (names.length === 0 || random.oneIn(8)) return this.#otherValue()
    const name = random.pick(names)
    if (Array.isArray(json)) return json.map((item, i) => (String(i) === name ? this.#changedOnce(item) : item))
    const members = json as JsonObject
    switch (random.below(8)) {
      case 0:
        return Object.fromEntries(Object.entries(members).filter(([each]) => each !== name))
      case 1:
        return { ...members, [oddText(random)]: this.#otherValue() }
      case 2:
        return { ...members, [raw(JSON.stringify(name))]: this.#otherValue() }
      case 3:
      case 4:
        return { ...members, ...Object.fromEntries([random.pick(this.#members)]) }
      default:
        return { ...members, [name]: this.#changedOnce(members[name] ?? null) }
    }
  }

  #otherValue(): Json {
    const random = this.#random
    switch (random.below(4)) {
      case 0:
        return raw(random.pick(oddTexts))
      case 1:
        return anyJson(random)
      case 2:
        return oddText(random)
      default:
        return random.pick(this.#members)[1]
    }
  }
}

/** The members of a value, including nested ones. */
function membersOf(json: Json): (readonly [name: string, member: Json])[] {
  if (typeof json !== 'object' || json === null) return []
  if (Array.isArray(json)) return json.flatMap(membersOf)
  return Object.entries(json as JsonObject).flatMap((member) => [member, ...membersOf(member[1])])
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

/** A request with bytes replaced, dropped, inserted or repeated, or with its end cut off. */
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
