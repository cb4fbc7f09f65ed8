/** Builds a page of stored items, copied unchanged, with commas between them. The next page uses the same buffer. */
import { type Page, type PageQuery, pageHeadroom } from '../../topics.js'

type PageBounds = Pick<PageQuery, 'size' | 'bytesMax'>

export interface PageBuilder {
  begin(bounds: PageBounds): void
  /** The item must be valid only during the call. Needs no `this`. @returns false if the page was full and has more */
  readonly add: (item: Uint8Array) => boolean
  /** Ends the page before the next item, which exists. @returns false */
  end(): boolean
  /** The bytes of the items so far, commas included. */
  bytes(): number
  /** The page, valid until `begin`. */
  finish(): Page
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

/** A page that outlives the next one. */
export function copyOf(page: Page): Page {
  const buffer = Buffer.from(page.buffer.subarray(0, page.end + pageHeadroom))
  return { ...page, buffer }
}
