/**
 * The pages that need no key: the health of this worker, the API description, the client for browsers, which any page can
 * import, and the root. None reveals anything about topics or keys. http/cors.ts decides which web pages of other origins
 * may read these pages.
 *
 * `/` redirects to the console or, if the console is turned off, lists the routes and pages. So does the base path, with and
 * without a trailing slash.
 */

import { version } from '../base/version.js'
import type { Answer, Page, PageRequest } from '../http/answer.js'
import { loadClient } from '../web/site.js'
import { refuse } from './context.js'
import { describeApi } from './openapi/openapi.js'
import type { SettableBounds } from './openapi/openapi-schemas.js'
import { problem } from './problems.js'

/** A host name, IPv4 address or bracketed IPv6 address, with an optional port; anything else is not echoed. */
const plainHost = /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/** Placeholder for the origin, which depends on the request. */
const originPlaceholder = 'http://origin.invalid'

/** These pages change between requests, reloads or builds, so they must not be cached. */
const headers = [['cache-control', 'no-store']] as const

interface PagesOptions extends SettableBounds {
  /** Without a trailing slash; empty for none. */
  readonly basePath: string
  /** As `host:port`; used in the origin if the client sends no usable host. */
  readonly address: string
  /** The paths of the routes, base path included. */
  readonly routes: readonly string[]
  readonly hasConsole: boolean
}

/** @throws Error if the client is missing from the build */
export function createPages(options: PagesOptions): readonly Page[] {
  const { basePath, address, routes, hasConsole, ...settable } = options
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
    ...rootPages(basePath, routes, hasConsole),
  ]
}

function rootPages(basePath: string, routes: readonly string[], hasConsole: boolean): readonly Page[] {
  const names = ['healthz', 'openapi.json', 'client.js', ...(hasConsole ? ['console'] : [])]
  const pages = names.map((name) => `${basePath}/${name}`)
  const body = JSON.stringify({ service: 'topicd', version, routes, pages })

  /** The location is relative, so that it also works behind a proxy that serves the base path under another name. */
  function toConsole(path: string): Answer {
    const folder = path.slice(0, path.lastIndexOf('/') + 1)
    return { status: 302, body, headers: [...headers, ['location', `${basePath}/console`.slice(folder.length)]] }
  }

  return [...new Set(['/', basePath || '/', `${basePath}/`])].map((path) => {
    const answer = hasConsole ? toConsole(path) : { status: 200, body, headers }
    return { path, read: () => answer }
  })
}
