/**
 * Detects requests from pages of other origins by the headers that browsers send. Not access control: programs can send any
 * headers. This is for routes that only our own pages use: requests from other pages are rejected before their key is checked.
 */
import type { HttpRequest } from 'uWebSockets.js'

/** From a page of the same origin, or from no page, such as a typed address; empty if the header is missing. */
const ownSites: readonly string[] = ['', 'same-origin', 'none']

const schemeStart = /^https?:\/\//i

/** Must be called within the request's handler. */
export function isCrossOrigin(req: HttpRequest): boolean {
  if (!ownSites.includes(req.getHeader('sec-fetch-site'))) return true
  const origin = req.getHeader('origin')
  if (origin === '') return false
  // The scheme is not compared: behind a proxy that does not forward it, the schemes differ.
  return !schemeStart.test(origin) || origin.replace(schemeStart, '') !== req.getHeader('host').toLowerCase()
}
