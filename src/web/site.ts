/**
 * Files for browsers, bundled in dist/bundles by scripts/build.mjs and served from memory. They are the two pages of the console
 * (each a document and the files that it names), and the client for pages elsewhere. The path of each named file contains a hash of
 * its contents, so browsers may cache it forever. During a rolling restart, a process from another build serves its own files
 * under any hash, with no-store.
 *
 *     DOCUMENT             the document, at any path the caller chooses
 *     console/HASH/NAME    a file that the document names
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { answerWith, type FileAnswer, type FileRequest, type StaticFile, staticFile } from './static-files.js'

const bundles = join(import.meta.dirname, '../bundles')

/**
 * Nothing is loaded from elsewhere, nothing inline is executed, and markup is created only from the page's own templates.
 * `lit-html` is the name of that library's policy.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types lit-html',
].join('; ')

const unversioned = ['cache-control', 'no-cache'] as const

const pageHeaders = [
  unversioned,
  ['content-security-policy', contentSecurityPolicy],
  ['referrer-policy', 'no-referrer'],
] as const

/** Cache lifetime of a file below its hash, in s: a year, which means forever. */
const cachedS = 31_536_000

interface Site {
  document(request: FileRequest): FileAnswer
  /** @param path the part of the request's path after `console/` @returns undefined if there is no such file */
  file(path: string, request: FileRequest): FileAnswer | undefined
}

/** @throws Error if a file is missing from the build */
export function loadSite(page: 'topics' | 'service'): Site {
  const files = new Map<string, StaticFile>()
  const html = readBundled(`${page}.html`)
    .toString()
    .replaceAll(/@([^@\n]+)@/g, (_, name: string) => {
      const file = staticFile(name, readBundled(name))
      files.set(name, file)
      return `console/${file.etag}/${name}`
    })
  const document = staticFile(`${page}.html`, Buffer.from(html))
  return {
    document: (request) => answerWith(document, request, pageHeaders),
    file(path, request) {
      const [, hash, name = ''] = /^([0-9a-f]+)\/(.*)$/.exec(path) ?? []
      const file = files.get(name)
      if (file === undefined) return undefined
      const caching = hash === file.etag ? `public, max-age=${cachedS}, immutable` : 'no-store'
      return answerWith(file, request, [['cache-control', caching]])
    },
  }
}

/** One module that any page can import. @throws Error if it is missing from the build */
export function loadClient(): (request: FileRequest) => FileAnswer {
  const file = staticFile('client.js', readBundled('client.js'))
  return (request) => answerWith(file, request, [unversioned])
}

function readBundled(name: string): Buffer {
  return readFileSync(join(bundles, name))
}
