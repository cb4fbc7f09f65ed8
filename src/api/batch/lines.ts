/** The lines of a body that arrives in pieces. Nothing here knows what is in them. */

const lineFeed = 0x0a

/** Memory for pieces that are smaller, in bytes: they may be of a few bytes each. */
const blockBytesMin = 16 * 1024

/** A line that is longer than allowed; nothing of it is kept. */
export const tooLong = Symbol('a line that is too long')

/** Memory that is filled once, so that what was returned of it stays as it is. */
interface Block {
  readonly memory: Buffer
  end: number
}

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
  /** Whether the line that has begun is too long already. */
  #isSkipping = false
  #isEnded = false

  /** @param bytesMax the longest line, without its end */
  constructor(private readonly bytesMax: number) {}

  /** What is kept of what has arrived, in bytes. */
  get bytes(): number {
    return this.#begunBytes + this.#blockBytes - this.#at
  }

  /** Adds a piece, which is copied. */
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

  /** Forgets everything that was not returned. */
  clear(): void {
    this.#blocks.length = this.#at = this.#blockBytes = 0
    this.#begin()
  }

  /** The next line, without its end, as a view or a copy; or that it is too long; undefined until more has arrived. */
  next(): Buffer | typeof tooLong | undefined {
    for (let block = this.#blocks[0]; block !== undefined; block = this.#blocks[0]) {
      const { memory, end } = block
      // What is behind the end is of no meaning.
      const found = memory.indexOf(lineFeed, this.#at)
      if (found >= 0 && found < end) {
        const rest = memory.subarray(this.#at, found)
        this.#at = found + 1
        return this.#line(rest)
      }
      if (this.#begunBytes + end - this.#at > this.bytesMax) {
        this.#begin()
        this.#isSkipping = true
      }
      if (this.#isSkipping) this.#at = end
      // More may come behind it.
      if (this.#blocks.length === 1 && !this.#isEnded) return undefined
      if (end > this.#at) {
        this.#begun.push(memory.subarray(this.#at, end))
        this.#begunBytes += end - this.#at
      }
      this.#blocks.shift()
      this.#blockBytes -= end
      this.#at = 0
    }
    const isLeft = this.#isEnded && (this.#begunBytes > 0 || this.#isSkipping)
    return isLeft ? this.#line(Buffer.alloc(0)) : undefined
  }

  #line(rest: Buffer): Buffer | typeof tooLong {
    const isTooLong = this.#isSkipping || this.#begunBytes + rest.length > this.bytesMax
    const line = this.#begunBytes === 0 ? rest : Buffer.concat([...this.#begun, rest])
    this.#begin()
    this.number++
    return isTooLong ? tooLong : line
  }

  /** Begins another line. */
  #begin(): void {
    this.#begun = []
    this.#begunBytes = 0
    this.#isSkipping = false
  }
}
