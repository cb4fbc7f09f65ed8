/** Static files in memory, plain and compressed, each with an ETag, and responses to requests. site.ts handles paths. */
import { createHash } from 'node:crypto'
import { extname } from 'node:path'
import { gzipSync } from 'node:zlib'
import { takesGzip } from './accept.js'

export interface StaticFile {
  readonly contentType: string
  readonly etag: string
  readonly plain: Buffer
  readonly gzipped: Buffer
}

/** The values of the two headers; empty if the request has no such header. */
export interface FileRequest {
  readonly ifNoneMatch: string
  readonly acceptEncoding: string
}

export interface FileAnswer {
  readonly status: 200 | 304
  readonly contentType: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Empty for a 304. */
  readonly body: Buffer
}

/** By file extension. */
const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const hashDigits = 16

/** @param name its extension determines the content type */
export function staticFile(name: string, plain: Buffer): StaticFile {
  const contentType = contentTypes[extname(name)] ?? ''
  const etag = createHash('sha256').update(plain).digest('hex').slice(0, hashDigits)
  return { contentType, etag, plain, gzipped: gzipSync(plain, { level: 9 }) }
}

/** @param headers sent in addition to the file's own headers */
export function answerWith(
  { contentType, etag, plain, gzipped }: StaticFile,
  { ifNoneMatch, acceptEncoding }: FileRequest,
  headers: FileAnswer['headers'],
): FileAnswer {
  const isGzipped = takesGzip(acceptEncoding)
  // A strong ETag identifies exact bytes, so each encoding has its own.
  const tag = isGzipped ? `"${etag}-gzip"` : `"${etag}"`
  const all = [...headers, ['etag', tag], ['vary', 'accept-encoding'], ['x-content-type-options', 'nosniff']] as const
  if (ifNoneMatch === '*' || ifNoneMatch.split(',').some((known) => known.trim().replace(/^W\//, '') === tag)) {
    return { status: 304, contentType, headers: all, body: Buffer.alloc(0) }
  }
  if (!isGzipped) return { status: 200, contentType, headers: all, body: plain }
  return { status: 200, contentType, headers: [...all, ['content-encoding', 'gzip']], body: gzipped }
}
