/**
 * The pages that need no key: whether this worker is serving, the description of the API, and the client for browsers,
 * which any page can import. None reveals anything about topics or keys. http/cors.ts says which pages of other origins may
 * read them.
 */

import { version } from '../base/version.js'
import type { Answer, Page, PageRequest } from '../http/answer.js'
import { loadClient } from '../web/site.js'
import { refuse } from './context.js'
import { describeApi } from './openapi/openapi.js'
import type { SettableBounds } from './openapi/openapi-schemas.js'
import { problem } from './problems.js'

/** A host name, an IPv4 or a bracketed IPv6 address, and an optional port; anything else is not echoed. */
const plainHost = /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/** Stands for the origin, which each request names. */
const originPlaceholder = 'http://origin.invalid'

/** These pages change between requests, so they must not be cached. */
const headers = [['cache-control', 'no-store']] as const

interface PagesOptions extends SettableBounds {
  /** Without a trailing slash; empty for none. */
  readonly basePath: string
  /** As `host:port`: the origin if the client names no usable host. */
  readonly address: string
}

/** @throws Error if the build lacks the client */
export function createPages({ basePath, address, ...settable }: PagesOptions): readonly Page[] {
  const healthy: Answer = { status: 200, body: '{"status":"serving"}', headers }
  const refused = refuse(problem('draining'))
  const draining: Answer = { ...refused, headers: [...(refused.headers ?? []), ...headers] }
  const [before, after] = JSON.stringify(
    describeApi({ basePath, version, ...settable, origin: originPlaceholder }),
  ).split(originPlaceholder)

  function originOf({ scheme, host }: PageRequest): string {
    return `${scheme}://${plainHost.test(host) ? host : address}`
  }

  return [
    { path: `${basePath}/healthz`, read: (request) => (request.draining ? draining : healthy) },
    {
      path: `${basePath}/openapi.json`,
      read: (request) => ({ status: 200, body: before + originOf(request) + after, headers }),
    },
    { path: `${basePath}/client.js`, read: loadClient() },
  ]
}
