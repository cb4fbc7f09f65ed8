/**
 * Cross-origin resource sharing: which web pages may read the answers, by the origin that browsers put on their
 * requests. It protects the users of browsers and is no access control: a request without an origin, or from any other,
 * is served all the same. Nothing here sends; requests.ts asks once for each request, if the policy exists at all.
 *
 * The API key travels in a header that the page sets, so cookies and other credentials of the browser are never allowed.
 */
import type { HttpRequest } from 'uWebSockets.js'
import { everyOrigin } from '../settings/origins.js'
import type { Answer } from './answer.js'

/** Headers that an answer carries because of its request's origin. As bytes, which the library copies. */
export type OriginHeaders = readonly (readonly [name: Uint8Array, value: Uint8Array])[]

/**
 * A browser remembers a preflight for so long: each costs a connection, and pages of an origin that is no longer
 * allowed can continue to send requests for as long, though not read the answers.
 */
const preflightSeconds = '600'

const vary = ['vary', 'origin'] as const

export class Cors {
  readonly #byOrigin: ReadonlyMap<string, OriginHeaders>
  /** For every origin that is not listed, and for requests without one. */
  readonly #forOthers: OriginHeaders
  readonly #allowsOthers: boolean

  /** @param origins the value of the setting, not empty */
  constructor(origins: string) {
    const list = origins.split(',')
    this.#allowsOthers = list.includes(everyOrigin)
    // To every request, even without an origin, so that a cached answer serves a page as well.
    this.#forOthers = this.#allowsOthers ? allowing(everyOrigin) : asBytes([vary])
    this.#byOrigin = new Map(this.#allowsOthers ? [] : list.map((origin) => [origin, allowing(origin, vary)]))
  }

  /** For every answer to the request. Must be called within the request's handler. */
  headersFor(req: HttpRequest): OriginHeaders {
    // Browsers send an origin in its only form, so bytes are compared, and the answer repeats what the setting says.
    return this.#byOrigin.get(req.getHeader('origin')) ?? this.#forOthers
  }

  /**
   * The answer to a preflight, by which a browser asks whether a page may send a request. Undefined if this is none, or
   * its origin is not allowed. Its other headers are those of every answer.
   *
   * @param allowed the methods of the route or page
   */
  preflight(req: HttpRequest, allowed: string): Answer | undefined {
    const origin = req.getHeader('origin')
    if (origin === '' || req.getHeader('access-control-request-method') === '') return undefined
    if (!this.#allowsOthers && !this.#byOrigin.has(origin)) return undefined
    const headers: [string, string][] = [
      ['access-control-allow-methods', allowed],
      ['access-control-allow-headers', 'authorization, content-type, last-event-id'],
      ['access-control-max-age', preflightSeconds],
    ]
    if (req.getHeader('access-control-request-private-network') === 'true')
      headers.push(['access-control-allow-private-network', 'true'])
    return { status: 204, body: '', headers }
  }
}

function allowing(origin: string, ...more: readonly (readonly [string, string])[]): OriginHeaders {
  return asBytes([['access-control-allow-origin', origin], ['access-control-expose-headers', 'retry-after'], ...more])
}

function asBytes(headers: readonly (readonly [string, string])[]): OriginHeaders {
  return headers.map(([name, value]) => [Buffer.from(name), Buffer.from(value)])
}
