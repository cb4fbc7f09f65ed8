/**
 * Bodies that arrive in more than one piece: put together here, all that this process holds within a bound.
 */
import { bodyBytesKeptMin, bodyBytesSmallMax, bodyBytesWaitingMax } from '../limits.js'

/** A request whose body is arriving. */
export interface Arriving {
  /** Its pieces so far, in the first `keptBytes` of a buffer; undefined before there are two, and at the end. */
  kept: Buffer | undefined
  keptBytes: number
}

export interface Bodies {
  /** Whether a body of this size would be more than may wait. */
  isTooMuch(bytes: number): boolean
  /**
   * Adds a piece, whose bytes are copied. A body that has come up to `bytesMax` is the whole buffer.
   *
   * @param bytesMax what the body can come to, as announced or as allowed
   * @returns the body so far, or undefined when it is too much: then it is released
   */
  add(arriving: Arriving, piece: ArrayBuffer, bytesMax: number): Buffer | undefined
  /** Forgets what has arrived. */
  release(arriving: Arriving): void
  /** Those that are arriving, and those that requests in flight still need, in bytes. */
  readonly bytesHeld: () => number
}

/** @param workingBytes the bodies that requests in flight still need */
export function createBodies(workingBytes: () => number): Bodies {
  let bytes = 0
  const bytesHeld = (): number => bytes + workingBytes()

  function isTooMuch(more: number): boolean {
    return more > bodyBytesSmallMax && bytesHeld() + more > bodyBytesWaitingMax
  }

  function release(arriving: Arriving): void {
    if (arriving.kept !== undefined) bytes -= arriving.kept.length
    arriving.kept = undefined
  }

  return {
    isTooMuch,
    release,
    add(arriving, piece, bytesMax) {
      const { kept, keptBytes } = arriving
      const needed = keptBytes + piece.byteLength
      let buffer = kept
      if (buffer === undefined || needed > buffer.length) {
        const room = Math.min(bytesMax, Math.max(2 * needed, bodyBytesKeptMin))
        if (isTooMuch(room)) {
          release(arriving)
          return undefined
        }
        buffer = Buffer.allocUnsafeSlow(room)
        if (kept !== undefined) buffer.set(kept.subarray(0, keptBytes))
        release(arriving)
        arriving.kept = buffer
        bytes += room
      }
      buffer.set(new Uint8Array(piece), keptBytes)
      arriving.keptBytes = needed
      return buffer.subarray(0, needed)
    },
    bytesHeld,
  }
}
