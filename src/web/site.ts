/**
 * The sites that are served from memory: the two pages of the console, and the client for pages elsewhere. Each has one
 * document, which changes with the build, and the files that it loads, below a folder whose name is a hash of all
 * contents. So those files may be cached for ever, and a document never mixes the files of two builds: while a rolling
 * restart runs, a process of another build serves what it has under any hash, but forbids caching it.
 *
 *     DOCUMENT                          the document, at whatever path the caller gives it
 *     console/HASH/console/…            modules and static files, as in dist/console
 *     console/HASH/client/…             the client library, as in dist/client, for the console
 *     console/HASH/console/vendor/…     libraries, from their packages
 *     client/HASH/client/…              the client library for pages elsewhere
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import {
  answerWith,
  type FileAnswer,
  type FileRequest,
  hashOf,
  isServed,
  type StaticFile,
  staticFile,
} from './static-files.js'

const dist = join(import.meta.dirname, '..')

/** What a site consists of. */
interface SiteParts {
  /** What precedes the hash in the paths of its files. */
  readonly prefix: 'console' | 'client'
  /** The name of the document, which tells its kind. */
  readonly document: string
  readonly documentHeaders: FileAnswer['headers']
  /** The text of the document. `base` is where its files are, relative to it. */
  readonly write: (base: string, modules: readonly string[]) => string
  /** The folders, with those in them, and the libraries that its files come from. */
  readonly folders: readonly string[]
  readonly vendor: Readonly<Record<string, string>>
}

const litHtml = { 'lit-html.js': 'lit-html/lit-html.js' }

/** Under the names by which these files import each other. */
const repeat = Object.fromEntries(
  ['directive.js', 'directive-helpers.js', 'directives/repeat.js'].map((name) => [name, `lit-html/${name}`]),
)

/**
 * Nothing is loaded from elsewhere, nothing inline is executed, and markup is made from the page's own templates only.
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

/** A page of the console, from its template and its own folder of modules. */
function page(document: string, folder: string): Omit<SiteParts, 'vendor'> {
  const write: SiteParts['write'] = (base, modules) => {
    const preloads = modules.map((path) => `<link rel="modulepreload" href="${base}/${path}">`)
    return readFileSync(join(dist, 'console/static', document), 'utf8')
      .replaceAll('@assets@', `${base}/console`)
      .replace('@modules@', preloads.join('\n'))
  }
  const folders = ['console/static', 'console/shared', folder]
  return { prefix: 'console', document, documentHeaders: pageHeaders, write, folders }
}

const topicsPage = page('topics.html', 'console/topics')

/** One module with all exports of the client. It names every file, so that a browser asks for all of them at once. */
function clientModule(base: string, modules: readonly string[]): string {
  return [...modules.map((path) => `import './${base}/${path}'`), `export * from './${base}/client/index.js'`, ''].join(
    '\n',
  )
}

const sites = {
  topics: { ...topicsPage, folders: [...topicsPage.folders, 'client'], vendor: { ...litHtml, ...repeat } },
  service: {
    ...page('service.html', 'console/service'),
    vendor: { ...litHtml, 'uplot.js': 'uplot/dist/uPlot.iife.min.js', 'uplot.css': 'uplot/dist/uPlot.min.css' },
  },
  client: {
    prefix: 'client',
    document: 'client.js',
    documentHeaders: [unversioned],
    write: clientModule,
    folders: ['client'],
    vendor: {},
  },
} as const satisfies Readonly<Record<string, SiteParts>>

/** How long a file below its hash may be cached, in s: a year, which means for ever. */
const cachedS = 31_536_000

interface Site {
  /** The document. */
  document(request: FileRequest): FileAnswer
  /**
   * A file of the document.
   *
   * @param path what follows `console/` or `client/` in the request's path
   * @returns undefined if there is none
   */
  file(path: string, request: FileRequest): FileAnswer | undefined
}

/** Reads everything that a site consists of. @throws Error when the build lacks something */
export function loadSite(name: keyof typeof sites): Site {
  const parts: SiteParts = sites[name]
  const files = readFiles(parts)
  const hash = hashOf(Buffer.from([...files].map(([path, { etag }]) => `${path} ${etag}`).join('\n')))
  const modules = [...files.keys()].filter((path) => path.endsWith('.js') && !path.endsWith('/uplot.js'))
  const document = staticFile(parts.document, Buffer.from(parts.write(`${parts.prefix}/${hash}`, modules)))
  return {
    document: (request) => answerWith(document, request, parts.documentHeaders),
    file(path, request) {
      const [, asked, name = ''] = /^([0-9a-f]+)\/(.*)$/.exec(path) ?? []
      const file = files.get(name)
      if (file === undefined) return undefined
      const caching = asked === hash ? `public, max-age=${cachedS}, immutable` : 'no-store'
      return answerWith(file, request, [['cache-control', caching]])
    },
  }
}

/** The files of a site by their paths below the hash, sorted. */
function readFiles({ folders, vendor }: SiteParts): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>()
  for (const folder of folders) {
    for (const name of readdirSync(join(dist, folder), { recursive: true, encoding: 'utf8' })) {
      if (!isServed(name) || name.endsWith('.html')) continue
      files.set(`${folder}/${name}`, read(join(dist, folder, name)))
    }
  }
  for (const [name, path] of Object.entries(vendor)) files.set(`console/vendor/${name}`, read(inPackage(path)))
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** A file of a package, whose exports may not name it. */
function inPackage(path: string): string {
  const [name = '', ...rest] = path.split('/')
  const { resolve } = createRequire(import.meta.url)
  const folder = (resolve.paths(name) ?? []).map((modules) => join(modules, name)).find(hasPackage)
  if (folder === undefined) throw new Error(`the package ${name} is not installed`)
  return join(folder, ...rest)
}

function hasPackage(folder: string): boolean {
  try {
    return readFileSync(join(folder, 'package.json')).length > 0
  } catch {
    return false
  }
}

/** Without the line that names a source map, which is not served. */
function read(path: string): StaticFile {
  const text = readFileSync(path, 'utf8').replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, '\n')
  return staticFile(path, Buffer.from(text))
}
