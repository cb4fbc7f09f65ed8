/**
 * Uploads: bodies that consist of lines, have any length, and are executed as they arrive. This file keeps none of their
 * bytes, and reads nothing from the connection while the route takes no more. Other bodies are in body.ts.
 *
 * - The library continues to read, even from a paused socket, while it gets full buffers of 512 KiB. So until a buffer is not
 *   full, each piece is only copied. Copying is usually faster than the client can send. The route limits the bytes it keeps.
 * - The library closes a connection whose body arrives slowly (`allowTime` in body.ts). A source of live values is slower
 *   than that, so here only silence ends an upload.
 */
import type { HttpResponse } from 'uWebSockets.js'
import type { Inlet, Upload } from './answer.js'
import { allowTime } from './body.js'
import type { Exchange, Exchanges } from './exchange.js'

/** Maximum uploads in one worker. Each keeps the bytes that the kernel hands over, usually a few MiB, and the batch being written. */
export const uploadsMax = 16

/** Maximum silence of an upload's source: as long as proxies allow. */
const silenceMsMax = 60_000

export interface UploadStats {
  readonly open: number
  readonly bytes: number
}

class Source {
  isTaken = true
  hasEnded = false
  #isPaused = false
  #bytes = 0
  #heardMs = performance.now()

  constructor(
    private readonly res: HttpResponse,
    private readonly isGone: () => boolean,
  ) {}

  get isSilent(): boolean {
    return this.isTaken && !this.#isPaused && !this.hasEnded && performance.now() - this.#heardMs > silenceMsMax
  }

  /** @returns the total bytes that have arrived */
  count(bytes: number): number {
    this.#heardMs = performance.now()
    this.#bytes += bytes
    return this.#bytes
  }

  pause(): void {
    if (!this.#isPaused) this.res.pause()
    this.#isPaused = true
  }

  resume(): void {
    if (this.#isPaused && !this.isGone()) this.res.resume()
    this.#isPaused = false
    this.#heardMs = performance.now()
  }

  refresh(): void {
    allowTime(this.res)
    if (this.#isPaused) this.res.pause()
  }
}

export class Uploads<Caller extends object> {
  readonly #open = new Map<Upload, Source>()
  #bytes = 0
  #isDraining = false

  constructor(
    private readonly exchanges: Exchanges<Caller>,
    readonly bytesMax: number,
  ) {}

  /** The number of open uploads, and the total bytes of all uploads since the worker started. */
  get stats(): UploadStats {
    return { open: this.#open.size, bytes: this.#bytes }
  }

  get areFull(): boolean {
    return this.#open.size >= uploadsMax
  }

  /** Ends all uploads, and later ones when they start: clients send the remaining lines to another worker. */
  drain(): void {
    this.#isDraining = true
    for (const upload of [...this.#open.keys()]) upload.end('draining')
  }

  /** Ends uploads whose sources have been silent for too long. Must be called from a timer, about once a second. */
  endSilent(): void {
    for (const [upload, source] of [...this.#open]) {
      if (source.isSilent) upload.end('upload_timed_out')
      // After the upload is over, its client has the library's 10 s to read the rest of the response.
      else if (source.isTaken) source.refresh()
    }
  }

  /** Hands over a body as it arrives. Must be called within the library's handler. */
  receive(exchange: Exchange<Caller>, open: (inlet: Inlet) => Upload): void {
    const { res } = exchange
    const source = new Source(res, () => exchange.aborted)
    // Bytes after the body wait for the response: otherwise the library would close the connection (server.ts).
    const resume = (): void => {
      if (!source.hasEnded || exchange.done) source.resume()
    }
    const drop = (): void => {
      source.isTaken = false
      resume()
    }
    const close = (): void => {
      source.isTaken = false
      this.#open.delete(upload)
    }
    exchange.onAnswer = resume
    const upload = open({ resume, drop, close })
    this.#open.set(upload, source)
    res.onAborted(() => {
      close()
      this.exchanges.abort(exchange)
    })
    res.onData((piece, isLast) => {
      exchange.bodyEnded = isLast
      this.#bytes += piece.byteLength
      if (!source.isTaken) return exchange.onDropped?.()
      // The duration does not include the time that the body takes to arrive.
      exchange.startMs = performance.now()
      if (source.count(piece.byteLength) > this.bytesMax) return upload.end('body_too_large')
      source.pause()
      upload.take(new Uint8Array(piece))
      source.hasEnded = isLast
      if (isLast) upload.end()
    })
    // The size of an upload is known only at its end, and its bytes take no room from other bodies.
    exchange.bytesIn = 0
    this.exchanges.finishWhenDone(exchange, upload.answer)
    if (this.#isDraining) upload.end('draining')
  }
}
