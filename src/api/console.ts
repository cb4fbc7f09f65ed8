/**
 * The console at `/console` below the base path: the page, the files that it loads, and what the caller's key may do,
 * so that the page offers nothing else. The first two need no key and are the same for everyone.
 */
import type { Access } from '../auth/access.js'
import type { Answer, Page, PageRequest, Refusal } from '../http/answer.js'
import { loadSite } from '../web/site.js'

/** The answer of `/console/key`. */
interface KeyAnswer {
  readonly name: string
  readonly allow: readonly string[]
  /** Subtrees; empty for all topics. */
  readonly under: readonly string[]
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
}

/** @throws Error if the build lacks a file */
export function createConsole(options: ConsoleOptions): readonly Page[] {
  const { basePath, pageSizeMax, admin, authenticate, refuseBeyondRate, refusal } = options
  const site = loadSite('topics')
  const path = `${basePath}/console`

  function readFile(request: PageRequest): Answer {
    // The page's relative links need the path without the slash.
    if (request.path === `${path}/`) return { status: 301, body: '', headers: [['location', '../console']] }
    return site.file(request.path.slice(path.length + 1), request) ?? refusal('unknown_route')
  }

  function readKey({ authorization }: PageRequest): Answer {
    const access = authenticate(authorization)
    if (access === undefined) return refusal('unauthorized', authorization)
    const beyondRate = refuseBeyondRate(access)
    if (beyondRate !== undefined) return beyondRate
    const { name, allow, under = [] } = access
    const answer: KeyAnswer = {
      name,
      allow: [...allow],
      under,
      pageSizeMax,
      admin: under.length === 0 ? admin : undefined,
    }
    return { status: 200, body: JSON.stringify(answer), headers: [['cache-control', 'no-store']] }
  }

  return [
    { path, read: (request) => site.document(request) },
    { path: `${path}/key`, read: readKey },
    { path: `${path}/*`, read: readFile },
  ]
}
