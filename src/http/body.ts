/** Assembles request bodies within one bound, except those of uploads and of reads whose unchunked body arrives with the headers. */
import type { HttpResponse } from 'uWebSockets.js'

/** Maximum bytes of bodies in one worker: bodies that arrive in pieces, and bodies of requests in flight. */
export const bodyBytesWaitingMax = 64 * 1024 * 1024

/** Up to this size, only the number of requests limits bodies, so that a few huge bodies do not keep small ones out. */
export const bodyBytesSmallMax = 4 * 1024

/** The smallest buffer for a body that arrives in pieces: the cost of a slow body before much of it has arrived. */
export const bodyBytesKeptMin = 4 * 1024

/** A body may take this long, plus its time at `bodyBytesPerMsMin`: enough for a slow link, but not forever. */
const bodyMsMax = 120_000
const bodyBytesPerMsMin = 16

/** @param bytes the announced bytes, or the bytes that have arrived */
export function mayStillArrive(bytes: number, ms: number): boolean {
  return ms < bodyMsMax + bytes / bodyBytesPerMsMin
}

/**
 * Restarts the library's timeout, which closes a connection whose body arrives at less than 16 KiB per second for 10 s.
 * The call works even after the end of the body, and resumes a paused connection.
 */
export function allowTime(res: HttpResponse): void {
  res.pause()
  res.resume()
}

export interface Arriving {
  /** The pieces of the body so far, in the first `keptBytes` bytes; undefined until a piece is kept, and after the release. */
  kept: Buffer | undefined
  keptBytes: number
}

export class Bodies {
  #bytes = 0

  /** @param workingBytes the total bytes of bodies that requests in flight still need */
  constructor(private readonly workingBytes: () => number) {}

  /** The total bytes of arriving bodies and of bodies that requests in flight still need. */
  get bytesHeld(): number {
    return this.#bytes + this.workingBytes()
  }

  /** There is always room for a small body. */
  isTooMuch(bytes: number): boolean {
    return bytes > bodyBytesSmallMax && this.bytesHeld + bytes > bodyBytesWaitingMax
  }

  /**
   * Copies the piece. After `bytesMax` bytes have arrived, the body fills the whole buffer.
   *
   * @param bytesMax the maximum size of the body, announced or allowed
   * @returns the body so far; undefined if there is no room, in which case the body so far is released
   */
  add(arriving: Arriving, piece: ArrayBuffer, bytesMax: number): Buffer | undefined {
    const { kept, keptBytes } = arriving
    const needed = keptBytes + piece.byteLength
    let buffer = kept
    if (buffer === undefined || needed > buffer.length) {
      const room = Math.min(bytesMax, Math.max(2 * needed, bodyBytesKeptMin))
      // The replaced buffer does not count: only one body grows at a time, and within this call.
      this.releaseBody(arriving)
      if (this.isTooMuch(room)) return undefined
      // A complete body is not kept for long, so it may share memory with other buffers.
      buffer = needed === bytesMax ? Buffer.allocUnsafe(room) : Buffer.allocUnsafeSlow(room)
      if (kept !== undefined) buffer.set(kept.subarray(0, keptBytes))
      arriving.kept = buffer
      this.#bytes += room
    }
    buffer.set(new Uint8Array(piece), keptBytes)
    arriving.keptBytes = needed
    return buffer.subarray(0, needed)
  }

  releaseBody(arriving: Arriving): void {
    if (arriving.kept !== undefined) this.#bytes -= arriving.kept.length
    arriving.kept = undefined
  }
}
