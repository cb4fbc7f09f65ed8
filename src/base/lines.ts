/** Cuts pieces of bytes into lines. Nothing here decodes a line: its reader must be able to refuse invalid UTF-8. */

const lineFeed = 0x0a

/** Some editors and programs, most of them on Windows, put this before UTF-8. */
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/** Memory for pieces that are smaller, in bytes: they may be of a few bytes each. */
const blockBytesMin = 16 * 1024

/** How much of a line that is too long is shown, in bytes: enough to see what it is. */
const startBytesMax = 4096

/** A line that is longer than allowed, of which only the start is kept. */
export class TooLong {
  constructor(readonly start: Buffer) {}
}

/** Memory that is filled once, so that what was returned of it stays as it is. */
interface Block {
  readonly memory: Buffer
  end: number
}

/** A byte order mark before the first line is not part of it. */
export class Lines {
  /** The number of the line that `next` returned last, from 1. */
  number = 0
  readonly #blocks: Block[] = []
  /** Where the next line, or the rest of it, begins in the first block. */
  #at = 0
  /** How the next line begins, in blocks before that. */
  #begun: Buffer[] = []
  #begunBytes = 0
  #blockBytes = 0
  /** The start of the line that has begun, once it is too long. */
  #tooLong: TooLong | undefined
  #isEnded = false

  /** @param bytesMax the longest line, without its end */
  constructor(private readonly bytesMax: number) {}

  /** The number of bytes that have arrived and were not returned. */
  get bytes(): number {
    return this.#begunBytes + this.#blockBytes - this.#at
  }

  /** True if the line whose end has not arrived is already too long. */
  get isTooLong(): boolean {
    return this.#tooLong !== undefined
  }

  /** The piece is copied. */
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

  /** Nothing follows: what is left is the last line, even without a line end. */
  end(): void {
    this.#isEnded = true
  }

  clear(): void {
    this.#blocks.length = this.#at = this.#blockBytes = 0
    this.#begin()
  }

  /** The next line, without its end, as a view or a copy; or that it is too long; undefined until more has arrived. */
  next(): Buffer | TooLong | undefined {
    for (let block = this.#blocks[0]; block !== undefined; block = this.#blocks[0]) {
      const { memory, end } = block
      // What is behind the end is of no meaning.
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
      // More may come behind it.
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
