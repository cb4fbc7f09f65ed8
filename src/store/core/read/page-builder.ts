/** Builds a page of stored items, copied unchanged and separated by commas. The next page reuses the buffer. */
import { type Page, type PageQuery, pageHeadroom } from '../../topics.js'

type PageBounds = Pick<PageQuery, 'size' | 'bytesMax'>

export interface PageBuilder {
  begin(bounds: PageBounds): void
  /** The item is used only during the call. Works without `this`. @returns false if the item no longer fits: `hasMore` is then true */
  readonly add: (item: Uint8Array) => boolean
  /** Ends the page early; call it only if another item follows. @returns true, without ending the page, if the page is still empty */
  end(): boolean
  /** The number of bytes of the items so far, commas included. */
  bytes(): number
  /** The page, valid until `begin`. */
  finish(): Page
}

/** Most pages fit; for a larger one, the buffer grows. */
const initialBytesDefault = 64 * 1024

/**
 * A buffer that grew beyond this is released, so that one huge page does not occupy memory permanently. A smaller one is kept. The
 * limit fits a page of the default maximum size; growing to that size each time would leave several times as much garbage.
 */
const bytesKeptMax = 16 * 1024 * 1024

const comma = 0x2c

export function createPageBuilder(initialBytes = initialBytesDefault): PageBuilder {
  let buffer = Buffer.allocUnsafeSlow(initialBytes)
  let size = 0
  let endMax = 0
  let count = 0
  let end = pageHeadroom
  let lastStart = pageHeadroom
  let hasMore = false

  function grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * buffer.length))
    buffer.copy(larger, 0, 0, end)
    buffer = larger
  }

  function finishEarly(): boolean {
    hasMore = true
    return false
  }

  return {
    begin(bounds) {
      size = bounds.size
      endMax = pageHeadroom + bounds.bytesMax
      count = 0
      end = lastStart = pageHeadroom
      hasMore = false
      if (buffer.length > bytesKeptMax) buffer = Buffer.allocUnsafeSlow(initialBytes)
    },
    add(item) {
      const start = count === 0 ? end : end + 1
      const itemEnd = start + item.length
      if (count === size || (count > 0 && itemEnd > endMax)) return finishEarly()
      if (itemEnd + pageHeadroom > buffer.length) grow(itemEnd + pageHeadroom)
      if (count > 0) buffer[end] = comma
      buffer.set(item, start)
      count++
      lastStart = start
      end = itemEnd
      return true
    },
    end: () => (count === 0 ? true : finishEarly()),
    bytes: () => end - pageHeadroom,
    finish: () => ({ buffer, start: pageHeadroom, lastStart, end, hasMore }),
  }
}

/** A copy of the page that outlives the next page. */
export function copyOf(page: Page): Page {
  const buffer = Buffer.from(page.buffer.subarray(0, page.end + pageHeadroom))
  return { ...page, buffer }
}
