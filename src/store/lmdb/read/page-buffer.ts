/**
 * The buffer in which a page is built: stored items, copied unchanged, with commas between them. It is reused for the
 * next page. It is filled by page-scan.ts and match-scan.ts.
 */
import { type Page, pageHeadroom } from '../../topics.js'
import { createItemView } from './item-view.js'

export interface PageBuffer {
  /** Starts an empty page. */
  begin(): void
  /**
   * Adds an item, whose bytes need to be valid only during the call; needs no `this`.
   *
   * @returns the size of the page's items so far, commas included, in bytes
   */
  readonly copy: (bytes: Buffer, size: number) => number
  /** Removes the last item again; once for each item that is added. */
  dropLast(): void
  /** The page; its buffer is valid until `begin`. */
  finish(hasMore: boolean): Page
}

/** Most pages fit; a larger page makes the buffer grow. */
const initialBytesDefault = 64 * 1024

/**
 * A buffer that grew beyond this is released, so that one huge page does not occupy memory for good. A smaller one is
 * kept: a page of the default largest size fits, and growing to that each time would leave several times its size as
 * garbage.
 */
const bytesKeptMax = 16 * 1024 * 1024

const comma = 0x2c

export function createPageBuffer(initialBytes = initialBytesDefault): PageBuffer {
  const view = createItemView()
  let buffer = Buffer.allocUnsafeSlow(initialBytes)
  let end = pageHeadroom
  /** The end before the last item was added, and before the one before it. */
  let lastEnd = pageHeadroom
  let endBefore = pageHeadroom

  /** Moves the page to a buffer of at least `needed` bytes. */
  function grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * buffer.length))
    buffer.copy(larger, 0, 0, end)
    buffer = larger
  }

  return {
    begin() {
      end = lastEnd = endBefore = pageHeadroom
      if (buffer.length > bytesKeptMax) buffer = Buffer.allocUnsafeSlow(initialBytes)
    },
    copy(bytes, size) {
      endBefore = lastEnd
      lastEnd = end
      const needed = end + 1 + size + pageHeadroom
      if (needed > buffer.length) grow(needed)
      if (end > pageHeadroom) buffer[end++] = comma
      buffer.set(view(bytes, size), end)
      end += size
      return end - pageHeadroom
    },
    dropLast() {
      end = lastEnd
      lastEnd = endBefore
    },
    finish(hasMore) {
      const lastStart = lastEnd === pageHeadroom ? pageHeadroom : lastEnd + 1
      return { buffer, start: pageHeadroom, lastStart, end, hasMore }
    },
  }
}
