/**
 * Uploads: bodies of lines, of any length, that are carried out as they arrive. Nothing of them is kept here, and while the
 * route takes no more, nothing is read from the connection. Other bodies are in body.ts.
 *
 * - The library reads on, even from a socket that is paused, as long as it gets whole buffers of 512 KiB. So every piece is
 *   only copied: mostly that is faster than a client sends, and soon there is no whole one. What a route keeps, it bounds.
 * - It ends a connection whose body arrives slowly (`allowTime` in body.ts). A source of live values is slower, so here only
 *   silence ends an upload.
 */
import type { HttpResponse } from 'uWebSockets.js'
import type { Inlet, Upload } from './answer.js'
import { allowTime } from './body.js'
import type { Exchange, Exchanges } from './exchange.js'

/** Uploads in one worker. Each holds what the kernel has for it at a time, mostly some MiB, and what is being written. */
export const uploadsMax = 16

/** How long the source of an upload may be silent: as long as proxies let it. */
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

  /** @returns how many bytes have arrived in total */
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

  /** How many are open, and what all of them have sent since the start, in bytes. */
  get stats(): UploadStats {
    return { open: this.#open.size, bytes: this.#bytes }
  }

  get areFull(): boolean {
    return this.#open.size >= uploadsMax
  }

  /** Ends all of them, and those that begin later: what was not begun is left to another worker. */
  drain(): void {
    this.#isDraining = true
    for (const upload of [...this.#open.keys()]) upload.end('draining')
  }

  /** Ends those whose sources have been silent for too long. Must be called from a timer, about once a second. */
  endSilent(): void {
    for (const [upload, source] of [...this.#open]) {
      if (source.isSilent) upload.end('upload_timed_out')
      // Once it is over, its client has the library's 10 s to read the rest of the answer.
      else if (source.isTaken) source.refresh()
    }
  }

  /** Hands a body over as it arrives. Must be called within the library's handler. */
  receive(exchange: Exchange<Caller>, open: (inlet: Inlet) => Upload): void {
    const { res } = exchange
    const source = new Source(res, () => exchange.aborted)
    // What follows the body waits for the answer: the library would end the connection instead (server.ts).
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
      // What its body takes to arrive is its client's time.
      exchange.startMs = performance.now()
      if (source.count(piece.byteLength) > this.bytesMax) return upload.end('body_too_large')
      source.pause()
      upload.take(new Uint8Array(piece))
      source.hasEnded = isLast
      if (isLast) upload.end()
    })
    // Its size is known only at its end, and nobody else needs the room.
    exchange.bytesIn = 0
    this.exchanges.finishWhenDone(exchange, upload.answer)
    if (this.#isDraining) upload.end('draining')
  }
}
