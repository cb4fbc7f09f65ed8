/**
 * Compresses pages for clients that accept gzip: small pages inline, larger pages on zlib's threads, so that the worker can
 * continue. Streams are never compressed: each event would have to be flushed separately, which would undo most of the
 * saving, and zlib's state would be kept for every stream. `npm run bench -- gzip` shows the cost.
 */
import { gzip, gzipSync } from 'node:zlib'
import { whenKnown } from '../base/awaitable.js'
import type { Answer, Route } from '../http/answer.js'
import { takesGzip } from '../web/accept.js'

const kibibyte = 1024

/** Bodies up to this size are sent plain: they fit in three packets, which take no longer to arrive than one. */
const plainBytesMax = 4 * kibibyte

/**
 * Bodies up to this size are compressed inline, in less than 0.1 ms. On a thread, a body costs up to twice as much, and
 * between a third and all of that cost is worker time.
 */
const atOnceBytesMax = 16 * kibibyte

/** Level 6 would make pages 5 to 25 % smaller, but take two to three times as long. */
const level = 1

/** A window of 8 KiB is enough for small bodies; clearing less memory saves 20 µs. */
const smallWindow = { level, windowBits: 13, memLevel: 6 } as const

/** Most large bodies shrink by at least this factor, so the result is usually one piece. */
const usualRatio = 4

/** zlib's memory while it compresses a body, in addition to the body and the result. */
const stateBytes = 256 * kibibyte

/**
 * Maximum total size of the bodies that are being compressed on a worker's threads or wait for one, with zlib's memory for each;
 * beyond that, bodies are sent plain. One core compresses this much in about 0.1 s, so no page waits longer for other pages. The
 * limit also bounds memory.
 */
const underWayBytesMax = 16 * kibibyte * kibibyte

/** Also in plain responses, because they too depend on `accept-encoding`. */
const vary = ['vary', 'accept-encoding'] as const
const encoding = ['content-encoding', 'gzip'] as const

/** All routes to which the returned function is applied share one bound. */
export function compressingRoutes<Caller>(): (route: Route<Caller>) => Route<Caller> {
  let underWayBytes = 0

  function compressed(plain: Answer): Promise<Answer> {
    // A copy, because the store may reuse these bytes for the next page.
    const body = Buffer.from(plain.body)
    const bytes = body.length + stateBytes
    underWayBytes += bytes
    return new Promise((resolve, reject) => {
      gzip(body, { level, chunkSize: Math.ceil(body.length / usualRatio) }, (error, result) => {
        underWayBytes -= bytes
        if (error === null) resolve(gzipped(plain, result))
        else reject(error)
      })
    })
  }

  function encoded(answer: Answer, acceptEncoding: string): Answer | Promise<Answer> {
    const { status, body, headers = [] } = answer
    if (status !== 200 || body.length <= plainBytesMax) return answer
    const plain = { ...answer, headers: [...headers, vary] }
    if (!takesGzip(acceptEncoding)) return plain
    if (body.length <= atOnceBytesMax) return gzipped(plain, gzipSync(body, smallWindow))
    return underWayBytes < underWayBytesMax ? compressed(plain) : plain
  }

  return (route) => ({
    ...route,
    asksHeaders: true,
    handle(body, caller, ongoing) {
      const acceptEncoding = ongoing.headers?.acceptEncoding ?? ''
      return whenKnown(route.handle(body, caller, ongoing), (answer) => encoded(answer, acceptEncoding))
    },
  })
}

function gzipped(plain: Answer, body: Buffer): Answer {
  return { ...plain, headers: [...(plain.headers ?? []), encoding], body }
}
