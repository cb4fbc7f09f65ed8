/** Numbers, strings and bytes in sequence in a buffer: little-endian; a length precedes each string and byte string. */

import { writeText } from './text.js'

/** Minimum buffer size: room for the small frames of many turns. */
const bufferBytesMin = 64 * 1024

const doubleBytes = 8
const lengthBytes = 4

/** Appends to a buffer that grows as needed. Bytes that were taken never change. */
export class ByteWriter {
  #buffer: Buffer
  #start = 0
  #end = 0

  constructor(bytesMin = bufferBytesMin) {
    this.#buffer = Buffer.allocUnsafeSlow(bytesMin)
  }

  /** The number of bytes appended since the last `take`. */
  get length(): number {
    return this.#end - this.#start
  }

  byte(value: number): void {
    this.#ensure(1)
    this.#buffer[this.#end++] = value
  }

  uint32(value: number): void {
    this.#ensure(lengthBytes)
    this.#end = this.#buffer.writeUInt32LE(value, this.#end)
  }

  double(value: number): void {
    this.#ensure(doubleBytes)
    this.#end = this.#buffer.writeDoubleLE(value, this.#end)
  }

  text(value: string): void {
    const start = this.sized(3 * value.length)
    this.endSized(writeText(this.#buffer, start, value))
  }

  bytes(value: Uint8Array): void {
    const start = this.sized(value.length)
    this.#buffer.set(value, start)
    this.endSized(start + value.length)
  }

  /** Appends bytes without their length. */
  raw(value: Uint8Array): void {
    this.#ensure(value.length)
    this.#buffer.set(value, this.#end)
    this.#end += value.length
  }

  /** Starts a byte string of at most `bytesMax` bytes; the caller writes it into `buffer` from the returned position. */
  sized(bytesMax: number): number {
    this.#ensure(lengthBytes + bytesMax)
    return this.#end + lengthBytes
  }

  /** @param end the position after the byte string that `sized` started */
  endSized(end: number): void {
    this.#buffer.writeUInt32LE(end - this.#end - lengthBytes, this.#end)
    this.#end = end
  }

  get buffer(): Buffer {
    return this.#buffer
  }

  /** Keeps only the first `length` bytes appended since the last `take`. */
  cut(length: number): void {
    this.#end = this.#start + length
  }

  /** The bytes appended since the last call to `take`, as a view whose bytes never change. */
  take(): Buffer {
    const taken = this.#buffer.subarray(this.#start, this.#end)
    this.#start = this.#end
    return taken
  }

  #ensure(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return
    const kept = this.#buffer.subarray(this.#start, this.#end)
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(bufferBytesMin, 2 * kept.length + bytes))
    this.#buffer.set(kept)
    this.#start = 0
    this.#end = kept.length
  }
}

/** Reads the output of a `ByteWriter`. @throws RangeError if the bytes end too early */
export class ByteReader {
  #at = 0

  constructor(private readonly buffer: Buffer) {}

  get hasMore(): boolean {
    return this.#at < this.buffer.length
  }

  get position(): number {
    return this.#at
  }

  byte(): number {
    return this.buffer.readUInt8(this.#at++)
  }

  uint32(): number {
    const value = this.buffer.readUInt32LE(this.#at)
    this.#at += lengthBytes
    return value
  }

  double(): number {
    const value = this.buffer.readDoubleLE(this.#at)
    this.#at += doubleBytes
    return value
  }

  peekDouble(): number {
    return this.buffer.readDoubleLE(this.#at)
  }

  text(): string {
    const [start, end] = this.range()
    return this.buffer.toString('utf8', start, end)
  }

  /** A view. */
  bytes(): Buffer {
    const [start, end] = this.range()
    return this.buffer.subarray(start, end)
  }

  /** All unread bytes, as a view. */
  rest(): Buffer {
    const from = this.#at
    this.#at = this.buffer.length
    return this.buffer.subarray(from)
  }

  /** The start and the end of the next byte string in the buffer. */
  range(): readonly [number, number] {
    const start = this.#at + lengthBytes
    const end = start + this.uint32()
    if (end > this.buffer.length) throw new RangeError('a byte string ends after its frame')
    this.#at = end
    return [start, end]
  }
}
