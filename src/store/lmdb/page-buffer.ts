/**
 * Where a page is put together: stored items, copied as they are, with commas between them. lmdb hands every item of a
 * scan to `copy`, which takes it straight into the page; the buffer is used again for the next page.
 */
import { type Page, pageHeadroom } from '../store.js'
import { createView } from './views.js'

export interface PageBuffer {
  /** Starts an empty page. */
  begin(): void
  /** Adds an item; answers the bytes of the page's items so far, commas included. */
  copy(bytes: Buffer, size: number): number
  /** Takes the last item out again. */
  dropLast(): void
  /** The page; its buffer is good until `begin`. */
  finish(hasMore: boolean): Page
}

/** Most pages fit; a page of the largest allowed size grows it. */
const bytesAtFirstDefault = 64 * 1024

/**
 * A buffer that grew beyond this is given back, so that one huge page does not stay in memory. Up to this it is kept: a
 * page of the usual largest size fits, and growing to it anew each time would leave several times its size to be collected.
 */
const bytesKeptMax = 16 * 1024 * 1024

const comma = 0x2c

export function createPageBuffer(bytesAtFirst = bytesAtFirstDefault): PageBuffer {
  const view = createView()
  let buffer = Buffer.allocUnsafeSlow(bytesAtFirst)
  let end = pageHeadroom
  let lastStart = pageHeadroom

  function grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * buffer.length))
    buffer.copy(larger, 0, 0, end)
    buffer = larger
  }

  return {
    begin() {
      end = lastStart = pageHeadroom
      if (buffer.length > bytesKeptMax) buffer = Buffer.allocUnsafeSlow(bytesAtFirst)
    },
    copy(bytes, size) {
      lastStart = end
      const needed = end + 1 + size + pageHeadroom
      if (needed > buffer.length) grow(needed)
      if (end > pageHeadroom) buffer[end++] = comma
      buffer.set(view(bytes, size), end)
      end += size
      return end - pageHeadroom
    },
    dropLast() {
      end = lastStart
    },
    finish(hasMore) {
      return { buffer, start: pageHeadroom, end, hasMore }
    },
  }
}
