/** Splits chunks of bytes into lines. Nothing here decodes a line: its reader must be able to reject invalid UTF-8. */

const lineFeed = 0x0a

/** Some editors and programs, mostly on Windows, put this before UTF-8 text. */
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/** Minimum size of a block, in bytes: a block collects chunks, which may have only a few bytes each. */
const blockBytesMin = 16 * 1024

/** Bytes shown of a line that is too long: enough to recognise it. */
const startBytesMax = 4096

/** A line that is longer than allowed; only its start is kept. */
export class TooLong {
  constructor(readonly start: Buffer) {}
}

/** Memory that is filled only once, so that returned views never change. */
interface Block {
  readonly memory: Buffer
  end: number
}

/** Removes a byte order mark before the first line. */
export class Lines {
  /** The number of the line that `next` returned last, from 1. */
  number = 0
  readonly #blocks: Block[] = []
  /** The start of the next line, or of its rest, in the first block. */
  #at = 0
  /** The beginning of the next line, from earlier blocks that are no longer in `#blocks`. */
  #begun: Buffer[] = []
  #begunBytes = 0
  #blockBytes = 0
  /** The start of the unfinished line if it is already too long. */
  #tooLong: TooLong | undefined
  #isEnded = false

  /** @param bytesMax maximum length of a line, excluding its end */
  constructor(private readonly bytesMax: number) {}

  /** The number of bytes that have arrived and have not been returned. */
  get bytes(): number {
    return this.#begunBytes + this.#blockBytes - this.#at
  }

  /** True if the unfinished line is already too long. */
  get isTooLong(): boolean {
    return this.#tooLong !== undefined
  }

  /** Copies the chunk. */
  add(piece: Uint8Array): void {
    let last = this.#blocks.at(-1)
    if (last === undefined || last.end + piece.length > last.memory.length) {
      last = { memory: Buffer.allocUnsafeSlow(Math.max(blockBytesMin, piece.length)), end: 0 }
      this.#blocks.push(last)
    }
    last.memory.set(piece, last.end)
    last.end += piece.length
    this.#blockBytes += piece.length
  }

  /** Marks the end of the input: the remaining bytes are the last line, even without a line end. */
  end(): void {
    this.#isEnded = true
  }

  clear(): void {
    this.#blocks.length = this.#at = this.#blockBytes = 0
    this.#begin()
  }

  /** The next line without its end, as a view or a copy; `TooLong` if it is too long; undefined if more input is needed. */
  next(): Buffer | TooLong | undefined {
    for (let block = this.#blocks[0]; block !== undefined; block = this.#blocks[0]) {
      const { memory, end } = block
      // Bytes past `end` are uninitialised.
      const found = memory.indexOf(lineFeed, this.#at)
      if (found >= 0 && found < end) {
        const rest = memory.subarray(this.#at, found)
        this.#at = found + 1
        return this.#line(rest)
      }
      const rest = memory.subarray(this.#at, end)
      const markBytes = this.number === 0 ? byteOrderMark.length : 0
      if (this.#begunBytes + rest.length > this.bytesMax + markBytes) {
        const tooLong = this.#tooLong ?? new TooLong(this.#startOf(rest))
        this.#begin()
        this.#tooLong = tooLong
      }
      if (this.#tooLong !== undefined) this.#at = end
      // The last block may still be filled.
      if (this.#blocks.length === 1 && !this.#isEnded) return undefined
      if (end > this.#at) {
        this.#begun.push(rest)
        this.#begunBytes += rest.length
      }
      this.#blocks.shift()
      this.#blockBytes -= end
      this.#at = 0
    }
    const isLeft = this.#isEnded && (this.#begunBytes > 0 || this.#tooLong !== undefined)
    return isLeft ? this.#line(Buffer.alloc(0)) : undefined
  }

  #line(rest: Buffer): Buffer | TooLong {
    const whole = this.#begunBytes === 0 ? rest : Buffer.concat([...this.#begun, rest])
    const line = this.#withoutMark(whole)
    const tooLong = this.#tooLong ?? (line.length > this.bytesMax ? new TooLong(this.#startOf(rest)) : undefined)
    this.#begin()
    this.number++
    return tooLong ?? line
  }

  #startOf(rest: Buffer): Buffer {
    const pieces = [...this.#begun, rest].map((piece) => piece.subarray(0, startBytesMax))
    return this.#withoutMark(Buffer.concat(pieces).subarray(0, startBytesMax))
  }

  #withoutMark(line: Buffer): Buffer {
    const isMarked = this.number === 0 && line.subarray(0, byteOrderMark.length).equals(byteOrderMark)
    return isMarked ? line.subarray(byteOrderMark.length) : line
  }

  #begin(): void {
    this.#begun = []
    this.#begunBytes = 0
    this.#tooLong = undefined
  }
}
