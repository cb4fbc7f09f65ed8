/**
 * Cross-origin resource sharing (CORS): the `origin` header that browsers send decides which web pages may read responses. This
 * protects users of browsers and is not access control: a request without an allowed origin is still served.
 * Nothing here sends a response. If there is a policy, requests.ts applies it once per request.
 *
 * The page sends the API key in a header, so cookies and other credentials of the browser are never allowed.
 */
import type { HttpRequest } from 'uWebSockets.js'
import { everyOrigin } from '../settings/origins.js'
import type { Answer } from './answer.js'

/** Response headers that depend on the request's origin. As bytes, which the library copies. */
export type OriginHeaders = readonly (readonly [name: Uint8Array, value: Uint8Array])[]

/**
 * Browsers cache a preflight for this long. Each preflight costs a connection. If an origin is no longer allowed, its pages
 * can still send requests during this time, but cannot read the responses.
 */
const preflightSeconds = '600'

const vary = ['vary', 'origin'] as const

export class Cors {
  readonly #byOrigin: ReadonlyMap<string, OriginHeaders>
  /** For unlisted origins and requests without an origin. */
  readonly #forOthers: OriginHeaders
  readonly #allowsOthers: boolean

  /** @param origins the value of the setting, not empty */
  constructor(origins: string) {
    const list = origins.split(',')
    this.#allowsOthers = list.includes(everyOrigin)
    // Sent even without an origin, so that a page can also use a cached response.
    this.#forOthers = this.#allowsOthers ? allowing(everyOrigin) : asBytes([vary])
    this.#byOrigin = new Map(this.#allowsOthers ? [] : list.map((origin) => [origin, allowing(origin, vary)]))
  }

  /** The headers of every response to the request. Must be called within the request's handler. */
  headersFor(req: HttpRequest): OriginHeaders {
    // Browsers send an origin in one canonical form, so an exact comparison suffices. The response repeats the setting.
    return this.#byOrigin.get(req.getHeader('origin')) ?? this.#forOthers
  }

  /**
   * The response to a preflight, with which a browser asks whether a page may send a request. Undefined if this is not a
   * preflight, or its origin is not allowed. `headersFor` returns the other headers.
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
