/**
 * The console at `/console` below the base path: the page, the files that it loads, and what the caller's key may do,
 * so that the page offers nothing else. The first two need no key and are the same for everyone. For the key of an
 * administrator, there are the API keys (keys.ts); for one that may fetch everything, the service at a glance.
 */
import type { Access } from '../../auth/access.js'
import type { Answer, Page, PageRequest, Refusal, Route } from '../../http/answer.js'
import { isoTime } from '../../keys/expiry.js'
import { loadSite } from '../../web/site.js'
import { ok, operationProblem, refuse } from '../context.js'
import { problem } from '../problems.js'
import { createIdentify, noStore } from './caller.js'
import { createKeyRoutes, type RefusedChange } from './keys.js'
import { earlierVersion, type Primary } from './primary.js'

/** The answer of `/console/key`. */
interface KeyAnswer {
  readonly name: string
  readonly allow: readonly string[]
  /** Subtrees; empty for all topics. */
  readonly under: readonly string[]
  /** When the key expires, in ISO 8601; undefined if it does not. */
  readonly expires: string | undefined
  readonly pageSizeMax: number
  /** The console's other page. Undefined for a key with subtrees, which may be public in a web page. */
  readonly admin: AdminAddress | undefined
}

export interface AdminAddress {
  readonly host: string
  readonly port: number
}

interface ConsoleOptions {
  /** Without a trailing slash; empty for none. */
  readonly basePath: string
  readonly pageSizeMax: number
  readonly admin: AdminAddress
  readonly authenticate: (authorization: string) => Access | undefined
  /** Undefined if the request is within the caller's rate; then it counts. */
  readonly refuseBeyondRate: (caller: Access) => Answer | undefined
  readonly refusal: (refusal: Refusal, found?: string) => Answer
  /** Undefined if it answers no questions. */
  readonly primary: Primary | undefined
  readonly onKeyChange: (change: RefusedChange) => void
}

interface Console {
  readonly pages: readonly Page[]
  readonly routes: readonly Route<Access>[]
}

/** @throws Error if the build lacks a file */
export function createConsole(options: ConsoleOptions): Console {
  const { basePath, pageSizeMax, admin, authenticate, refuseBeyondRate, refusal, primary, onKeyChange } = options
  const site = loadSite('topics')
  const path = `${basePath}/console`

  function readFile(request: PageRequest): Answer {
    // The page's relative links need the path without the slash.
    if (request.path === `${path}/`) return { status: 301, body: '', headers: [['location', '../console']] }
    return site.file(request.path.slice(path.length + 1), request) ?? refusal('unknown_route')
  }

  const identify = createIdentify(authenticate, refuseBeyondRate, refusal)

  function readKey(request: PageRequest): Answer {
    const caller = identify(request)
    if ('refused' in caller) return caller.refused
    const { name, allow, under = [], record } = caller.access
    const answer: KeyAnswer = {
      name,
      allow: [...allow],
      under,
      expires: isoTime(record.expiresMs),
      pageSizeMax,
      admin: under.length === 0 ? admin : undefined,
    }
    return { status: 200, body: JSON.stringify(answer), headers: noStore }
  }

  function readOverview(request: PageRequest): Answer | Promise<Answer> {
    const caller = identify(request)
    if ('refused' in caller) return caller.refused
    const { access } = caller
    const forbidden =
      operationProblem(access, ['fetch']) ?? (access.under === undefined ? undefined : problem('forbidden_path'))
    if (forbidden !== undefined) return refuse(forbidden)
    if (primary === undefined) return refuse(earlierVersion)
    return primary.overview().then(
      (overview) => ({ ...ok(JSON.stringify(overview)), headers: noStore }),
      (error: Error) => refuse(problem('console_unavailable', { problem: error.message })),
    )
  }

  const keys = createKeyRoutes({ path: `${path}/keys`, identify, primary, onKeyChange })
  return {
    routes: [keys.route],
    pages: [
      { path, read: (request) => site.document(request) },
      { path: `${path}/key`, read: readKey },
      { path: `${path}/overview`, sameOrigin: true, read: readOverview },
      keys.page,
      { path: `${path}/*`, read: readFile },
    ],
  }
}
