/**
 * Pages compressed for the clients that take gzip: smaller ones at once, larger ones by zlib's threads, so that the worker
 * goes on meanwhile. Streams are never compressed: each event would have to be flushed on its own, which costs most of
 * what is saved, and zlib's state would be kept for every stream. `npm run bench -- gzip` shows what it costs.
 */
import { gzip, gzipSync } from 'node:zlib'
import { whenKnown } from '../base/awaitable.js'
import type { Answer, Route } from '../http/answer.js'
import { takesGzip } from '../web/accept.js'

const kibibyte = 1024

/** Bodies up to this size are sent plain: they are three packets, for which a client waits no longer than for one. */
const plainBytesMax = 4 * kibibyte

/** Compressed inline, in less than 0.1 ms: a thread costs up to twice as much, a third to all of it worker time. */
const atOnceBytesMax = 16 * kibibyte

/** Level 6 makes pages 5 to 25 % smaller, and takes two to three times as long. */
const level = 1

/** A window of 8 KiB is enough for small bodies: less memory is cleared, in 20 µs less. */
const smallWindow = { level, windowBits: 13, memLevel: 6 } as const

/** A typical minimum ratio, so that the result of a large body usually is in one piece. */
const usualRatio = 4

/** zlib's memory for a body while it compresses it, besides the body and the result. */
const stateBytes = 256 * kibibyte

/**
 * The bodies that a worker's threads compress, and those that wait for them; beyond it, bodies are sent plain. It takes one
 * core about 0.1 s to compress as much, so no page waits longer than that for others, and a worker's memory is bounded.
 */
const underWayBytesMax = 16 * kibibyte * kibibyte

/** Plain answers also have it, because they depend on the header. */
const vary = ['vary', 'accept-encoding'] as const
const encoding = ['content-encoding', 'gzip'] as const

/** All routes that it is applied to share one bound. */
export function compressingRoutes<Caller>(): (route: Route<Caller>) => Route<Caller> {
  let underWayBytes = 0

  function compressed(plain: Answer): Promise<Answer> {
    // A copy: the store may use these bytes for the next page.
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
