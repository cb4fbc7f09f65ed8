/**
 * Assembles a page: items as text, with commas between them, up to the page's bounds. Nothing is read here.
 */
import { type Page, type PageQuery, pageHeadroom } from '../../topics.js'

interface PageItems {
  /** Adds the next item; returns false and adds nothing when the page is full. */
  add(item: string): boolean
  readonly count: () => number
  /** Bytes of the items so far, commas included. */
  readonly bytes: () => number
  finish(hasMore: boolean): Page
}

export function createPageItems({ size, bytesMax }: Pick<PageQuery, 'size' | 'bytesMax'>): PageItems {
  const items: string[] = []
  let bytes = 0
  return {
    add(item) {
      if (items.length === size) return false
      const more = Buffer.byteLength(item) + (items.length === 0 ? 0 : 1)
      if (items.length > 0 && bytes + more > bytesMax) return false
      items.push(item)
      bytes += more
      return true
    },
    count: () => items.length,
    bytes: () => bytes,
    finish(hasMore) {
      const buffer = Buffer.allocUnsafe(bytes + 2 * pageHeadroom)
      buffer.write(items.join(','), pageHeadroom, 'utf8')
      const end = pageHeadroom + bytes
      return { buffer, start: pageHeadroom, lastStart: end - Buffer.byteLength(items.at(-1) ?? ''), end, hasMore }
    },
  }
}
