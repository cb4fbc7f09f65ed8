/** Assembles bodies that arrive after their headers or in pieces, within a bound for all. Others never get here. */
import type { HttpResponse } from 'uWebSockets.js'

/** Bodies that one worker buffers: those that arrive in pieces, and those of requests that wait for their answer. */
export const bodyBytesWaitingMax = 64 * 1024 * 1024

/** Bodies up to this size are limited only by the number of requests, so that a few huge bodies do not keep them out. */
export const bodyBytesSmallMax = 4 * 1024

/** The smallest buffer for a body that arrives in pieces: the cost of a slow upload before it has sent much. */
export const bodyBytesKeptMin = 4 * 1024

/** The time for a body besides that at `bodyBytesPerMsMin`: enough for a slow link, but not forever. */
const bodyMsMax = 120_000
const bodyBytesPerMsMin = 16

/** @param bytes that are announced, or have arrived */
export function mayStillArrive(bytes: number, ms: number): boolean {
  return ms < bodyMsMax + bytes / bodyBytesPerMsMin
}

/**
 * Restarts the library's timeout: it closes a connection whose body arrives with less than 16 KiB a second for 10 s.
 * This works even after the end of the body, and resumes a paused connection.
 */
export function allowTime(res: HttpResponse): void {
  res.pause()
  res.resume()
}

export interface Arriving {
  /** Its pieces so far, in the first `keptBytes` of a buffer; undefined until a piece is kept, and once released. */
  kept: Buffer | undefined
  keptBytes: number
}

export class Bodies {
  #bytes = 0

  /** @param workingBytes the bytes of bodies that requests in flight still need */
  constructor(private readonly workingBytes: () => number) {}

  /** Bodies that are arriving, and those that requests in flight still need, in bytes. */
  get bytesHeld(): number {
    return this.#bytes + this.workingBytes()
  }

  /** There is always room for a small body. */
  isTooMuch(bytes: number): boolean {
    return bytes > bodyBytesSmallMax && this.bytesHeld + bytes > bodyBytesWaitingMax
  }

  /**
   * Copies the piece. Once `bytesMax` bytes have arrived, the body is the whole buffer.
   *
   * @param bytesMax the maximum of the body, as announced or as allowed
   * @returns the body so far; undefined if there is no room for it, and then its bytes so far are released
   */
  add(arriving: Arriving, piece: ArrayBuffer, bytesMax: number): Buffer | undefined {
    const { kept, keptBytes } = arriving
    const needed = keptBytes + piece.byteLength
    let buffer = kept
    if (buffer === undefined || needed > buffer.length) {
      const room = Math.min(bytesMax, Math.max(2 * needed, bodyBytesKeptMin))
      // The buffer that this one replaces does not count: only one body grows at a time, and within this call.
      this.releaseBody(arriving)
      if (this.isTooMuch(room)) return undefined
      // Of one that is whole, nothing is kept for long: it may share memory with others.
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
