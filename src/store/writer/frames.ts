/** Frames on the writer's socket: four bytes with the length of the rest, little-endian, then the rest. */
import type { Socket } from 'node:net'
import type { ByteWriter } from '../../base/bytes.js'

export const frameHeadBytes = 4

/** More than the largest encoded body; a greater length is invalid. */
const frameBytesMax = 512 * 1024 * 1024

export function beginFrame(out: ByteWriter): void {
  out.uint32(0)
}

/** Ends the frame that `beginFrame` started. @returns the frame, with its length */
export function takeFrame(out: ByteWriter): Buffer {
  const frame = out.take()
  frame.writeUInt32LE(frame.length - frameHeadBytes)
  return frame
}

/**
 * Cuts the data of a connection into frames, and closes the connection at an invalid one.
 *
 * @param onFrame receives the rest of each frame, in order: a view into memory that no longer changes. If it throws, the frame is
 *   invalid
 * @param onBroken gets the reason just before an invalid frame closes the connection; only a defect at either end can cause one
 */
export function readFrames(socket: Socket, onFrame: (frame: Buffer) => void, onBroken: (reason: Error) => void): void {
  const pieces: Buffer[] = []
  let bytes = 0
  /** Number of bytes needed before the next step. */
  let needed = frameHeadBytes
  const end = (reason: Error): void => {
    onBroken(reason)
    socket.destroy()
  }

  socket.on('data', (chunk: Buffer) => {
    pieces.push(chunk)
    bytes += chunk.length
    if (bytes < needed) return
    const buffer = pieces.length === 1 ? chunk : Buffer.concat(pieces, bytes)
    pieces.length = 0
    let at = 0
    for (;;) {
      needed = frameHeadBytes
      if (buffer.length - at < frameHeadBytes) break
      needed += buffer.readUInt32LE(at)
      if (needed > frameBytesMax) return end(new RangeError(`a frame claims to have ${needed} bytes`))
      if (buffer.length - at < needed) break
      try {
        onFrame(buffer.subarray(at + frameHeadBytes, at + needed))
      } catch (error) {
        return end(error as Error)
      }
      // The rest of a connection that was just closed is sent again on the next one.
      if (socket.destroyed) return
      at += needed
    }
    bytes = buffer.length - at
    if (bytes > 0) pieces.push(buffer.subarray(at))
  })
}
