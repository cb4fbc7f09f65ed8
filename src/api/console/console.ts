/**
 * The console at `/console` below the base path: the page, its files, and the permissions of the caller's key, so that the
 * page offers only what the key permits. The page and its files need no key and are the same for everyone. An administrator's key can
 * also manage API keys (keys.ts); a key that may fetch everything can see an overview of the service.
 */
import type { Access } from '../../auth/access.js'
import type { Awaitable } from '../../base/awaitable.js'
import type { Answer, PageRequest, Service } from '../../http/answer.js'
import { isoTime } from '../../keys/expiry.js'
import { loadSite } from '../../web/site.js'
import { ok, operationProblem, refuse } from '../context.js'
import { problem } from '../problems.js'
import { createKeysRoute } from './keys.js'
import type { Primary } from './primary.js'

/** The response from `/console/key`. */
interface KeyAnswer {
  readonly name: string
  readonly allow: readonly string[]
  /** Subtrees; empty for all topics. */
  readonly under: readonly string[]
  /** The expiry of the key, in ISO 8601; undefined if it never expires. */
  readonly expires: string | undefined
  readonly pageSizeMax: number
  /** The address of the console's service page. Undefined for a key with subtrees: such a key may be in a public web page. */
  readonly admin: AdminAddress | undefined
}

export interface AdminAddress {
  readonly host: string
  readonly port: number
}

interface ConsoleOptions extends Pick<Service<Access>, 'authenticate' | 'refuseBeyondRate' | 'refusal'> {
  /** Without a trailing slash; empty for none. */
  readonly basePath: string
  readonly pageSizeMax: number
  readonly admin: AdminAddress
  readonly primary: Primary
}

/** @throws Error if a file is missing from the build */
export function createConsole(options: ConsoleOptions): Pick<Service<Access>, 'pages' | 'routes'> {
  const { basePath, pageSizeMax, admin, authenticate, refuseBeyondRate, refusal, primary } = options
  const site = loadSite('topics')
  const path = `${basePath}/console`

  function readFile(request: PageRequest): Answer {
    // The page's relative links need the path without the trailing slash.
    if (request.path === `${path}/`) return { status: 301, body: '', headers: [['location', '../console']] }
    return site.file(request.path.slice(path.length + 1), request) ?? refusal('unknown_route')
  }

  /** Calls `answer` if the caller is known and within its rate. */
  function forCaller({ authorization }: PageRequest, answer: (caller: Access) => Awaitable<Answer>): Awaitable<Answer> {
    const caller = authenticate(authorization)
    return caller === undefined ? refusal('unauthorized', authorization) : (refuseBeyondRate(caller) ?? answer(caller))
  }

  function readKey({ name, allow, under = [], record }: Access): Answer {
    const [expires, shown] = [isoTime(record.expiresMs), under.length === 0 ? admin : undefined]
    return unstored({ name, allow: [...allow], under, expires, pageSizeMax, admin: shown } satisfies KeyAnswer)
  }

  function readOverview(caller: Access): Awaitable<Answer> {
    const forbidden =
      operationProblem(caller, ['fetch']) ?? (caller.under === undefined ? undefined : problem('forbidden_path'))
    if (forbidden !== undefined) return refuse(forbidden)
    return primary
      .overview()
      .then(unstored, ({ message }: Error) => refuse(problem('console_unavailable', { problem: message })))
  }

  return {
    routes: [createKeysRoute(`${path}/keys`, primary)],
    pages: [
      { path, read: (request) => site.document(request) },
      { path: `${path}/key`, read: (request) => forCaller(request, readKey) },
      { path: `${path}/overview`, sameOrigin: true, read: (request) => forCaller(request, readOverview) },
      { path: `${path}/*`, read: readFile },
    ],
  }
}

/** Not cached, because only the caller may see it. */
function unstored(body: object): Answer {
  return { ...ok(JSON.stringify(body)), headers: [['cache-control', 'no-store']] }
}
