/**
 * Bodies that arrive in more than one chunk: put together here, all that this process holds within a bound.
 */
import { bodyBytesKeptMin, bodyBytesSmallMax, bodyBytesWaitingMax } from '../limits.js'

/** A request whose body is arriving. */
export interface Arriving {
  /** What its headers announce. */
  readonly bytesIn: number
  /** Its chunks so far, in the first `keptBytes` of a buffer; undefined before there are two, and at the end. */
  kept: Buffer | undefined
  keptBytes: number
}

export interface Bodies {
  /** Whether a body of this size would be more than may wait. */
  isTooMuch(bytes: number): boolean
  /** Adds a chunk, whose bytes are copied; answers the body so far, or undefined when it is too much: then it is let go. */
  add(arriving: Arriving, chunk: ArrayBuffer): Buffer | undefined
  /** Forgets what has arrived. */
  letGo(arriving: Arriving): void
  /** Those that are arriving, and those that requests under way still need, in bytes. */
  readonly bytesHeld: () => number
}

/** @param workingBytes the bodies that requests under way still need */
export function createBodies(workingBytes: () => number): Bodies {
  let bytes = 0
  const bytesHeld = (): number => bytes + workingBytes()

  function isTooMuch(more: number): boolean {
    return more > bodyBytesSmallMax && bytesHeld() + more > bodyBytesWaitingMax
  }

  function letGo(arriving: Arriving): void {
    if (arriving.kept !== undefined) bytes -= arriving.kept.length
    arriving.kept = undefined
  }

  return {
    isTooMuch,
    letGo,
    add(arriving, chunk) {
      const { kept, keptBytes, bytesIn } = arriving
      const needed = keptBytes + chunk.byteLength
      let buffer = kept
      if (buffer === undefined || needed > buffer.length) {
        const room = Math.min(bytesIn, Math.max(2 * needed, bodyBytesKeptMin))
        if (isTooMuch(room)) {
          letGo(arriving)
          return undefined
        }
        buffer = Buffer.allocUnsafeSlow(room)
        if (kept !== undefined) buffer.set(kept.subarray(0, keptBytes))
        letGo(arriving)
        arriving.kept = buffer
        bytes += room
      }
      buffer.set(new Uint8Array(chunk), keptBytes)
      arriving.keptBytes = needed
      return buffer
    },
    bytesHeld,
  }
}
