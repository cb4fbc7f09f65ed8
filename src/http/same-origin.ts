/**
 * Which requests come from a page of another origin, by what browsers say of them. It is no access control: a program sends
 * what it likes. It is for routes that no page but our own has to use, so that a page elsewhere cannot even try.
 */
import type { HttpRequest } from 'uWebSockets.js'

/** From a page of the same origin; or from no page at all, such as an address that was typed. */
const ownSites: readonly string[] = ['', 'same-origin', 'none']

const schemeStart = /^https?:\/\//i

/** Must be called within the request's handler. */
export function isCrossOrigin(req: HttpRequest): boolean {
  if (!ownSites.includes(req.getHeader('sec-fetch-site'))) return true
  const origin = req.getHeader('origin')
  if (origin === '') return false
  // Without the scheme: in front of a proxy that does not name it, it is another.
  return !schemeStart.test(origin) || origin.replace(schemeStart, '') !== req.getHeader('host').toLowerCase()
}
