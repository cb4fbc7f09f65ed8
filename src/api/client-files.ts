/**
 * The client for browsers: `/client.js` below the base path, one module that any page can import, and the files that it
 * names. They need no key and are the same for everyone. Which pages of other origins may import it is for http/cors.ts.
 */
import type { Answer, Page, Refusal } from '../http/answer.js'
import { loadSite } from '../web/site.js'

/**
 * Reads the client's files, which are kept in memory.
 *
 * @param basePath without a trailing slash; empty for none
 * @throws Error when the build lacks one
 */
export function createClientFiles(basePath: string, refusal: (refusal: Refusal) => Answer): readonly Page[] {
  const site = loadSite('client')
  const path = `${basePath}/client`
  return [
    { path: `${path}.js`, read: (request) => site.document(request) },
    {
      path: `${path}/*`,
      read: (request) => site.file(request.path.slice(path.length + 1), request) ?? refusal('unknown_route'),
    },
  ]
}
