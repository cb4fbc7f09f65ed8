/**
 * The console at `/console` below the base path: the page, the files that it loads, and what the caller's key may do,
 * so that the page offers nothing else. The first two need no key and are the same for everyone.
 */
import type { Access } from '../auth/access.js'
import type { Answer, Page, PageRequest, Refusal } from '../http/answer.js'
import { loadSite } from '../web/site.js'

/** What `/console/key` answers. */
interface KeyAnswer {
  readonly name: string
  readonly allow: readonly string[]
  /** The paths of the subtrees that it may touch; empty for all. */
  readonly under: readonly string[]
  /** The largest page that a fetch may ask for. */
  readonly pageSizeMax: number
  /**
   * Where the service listens for monitoring, and so has the console's other page. Not for a key that is restricted to
   * subtrees: it may be in a web page, for everyone to read.
   */
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
  /** The refusal of a request beyond the caller's rate; undefined if it is within, and then it counts. */
  readonly refuseBeyondRate: (caller: Access) => Answer | undefined
  readonly refusal: (refusal: Refusal, found?: string) => Answer
}

/** Reads the page's files, which are kept in memory. @throws Error when the build lacks one */
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
