/**
 * What the root of the routes' port shows: `/` leads to the console, or says what is here where the console
 * is turned off. Below a base path, so do the base path itself, with and without a slash, and `/` above it.
 */

import { version } from '../base/version.js'
import type { Answer, Page } from '../http/answer.js'

/** @param basePath without a trailing slash; empty for none @param routes their whole paths */
export function createFrontPages(basePath: string, routes: readonly string[], hasConsole: boolean): readonly Page[] {
  const names = ['healthz', 'openapi.json', 'client.js', ...(hasConsole ? ['console'] : [])]
  const pages = names.map((name) => `${basePath}/${name}`)
  const body = JSON.stringify({ service: 'topicd', version, routes, pages })
  // A reload can turn the console off, and another build has another version.
  const uncached = ['cache-control', 'no-store'] as const
  const here: Answer = { status: 200, body, headers: [uncached] }

  /** Relative, so that it also holds behind a proxy that serves the base path under another name. */
  function toConsole(path: string): Answer {
    const folder = path.slice(0, path.lastIndexOf('/') + 1)
    return { status: 302, body, headers: [uncached, ['location', `${basePath}/console`.slice(folder.length)]] }
  }

  const paths = basePath === '' ? ['/'] : ['/', basePath, `${basePath}/`]
  return paths.map((path) => {
    const answer = hasConsole ? toConsole(path) : here
    return { path, read: () => answer }
  })
}
