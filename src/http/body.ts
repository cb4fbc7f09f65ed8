/**
 * Bodies that arrive in more than one piece: they are put together here, and all that this process holds stays within a bound.
 * A body in one piece is handled in place and never gets here.
 */
import { bodyBytesKeptMin, bodyBytesSmallMax, bodyBytesWaitingMax } from '../limits.js'

/** A request whose body is arriving. */
export interface Arriving {
  /** Its pieces so far, in the first `keptBytes` of a buffer; undefined before there are two, and once released. */
  kept: Buffer | undefined
  keptBytes: number
}

export class Bodies {
  readonly #workingBytes: () => number
  #bytes = 0

  /** @param workingBytes the bodies that requests in flight still need */
  constructor(workingBytes: () => number) {
    this.#workingBytes = workingBytes
  }

  /** Bodies that are arriving, and those that requests in flight still need, in bytes. */
  get bytesHeld(): number {
    return this.#bytes + this.#workingBytes()
  }

  /** Whether a body of this size would take more than may be held. */
  isTooMuch(bytes: number): boolean {
    return bytes > bodyBytesSmallMax && this.bytesHeld + bytes > bodyBytesWaitingMax
  }

  /**
   * Adds a piece, whose bytes are copied. Once `bytesMax` bytes have arrived, the body is the whole buffer.
   *
   * @param bytesMax how large the body can get, as announced or as allowed
   * @returns the body so far, or undefined when it is too much: then it is released
   */
  add(arriving: Arriving, piece: ArrayBuffer, bytesMax: number): Buffer | undefined {
    const { kept, keptBytes } = arriving
    const needed = keptBytes + piece.byteLength
    let buffer = kept
    if (buffer === undefined || needed > buffer.length) {
      const room = Math.min(bytesMax, Math.max(2 * needed, bodyBytesKeptMin))
      if (this.isTooMuch(room)) {
        this.releaseBody(arriving)
        return undefined
      }
      buffer = Buffer.allocUnsafeSlow(room)
      if (kept !== undefined) buffer.set(kept.subarray(0, keptBytes))
      this.releaseBody(arriving)
      arriving.kept = buffer
      this.#bytes += room
    }
    buffer.set(new Uint8Array(piece), keptBytes)
    arriving.keptBytes = needed
    return buffer.subarray(0, needed)
  }

  /** Forgets what has arrived. */
  releaseBody(arriving: Arriving): void {
    if (arriving.kept !== undefined) this.#bytes -= arriving.kept.length
    arriving.kept = undefined
  }
}
