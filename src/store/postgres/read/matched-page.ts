/**
 * A page of keys that a scan finds in batches: the items are read by their keys, as many as the page has room for.
 */
import type { Page, PageQuery } from '../../topics.js'
import { createPageItems } from './page-items.js'

/**
 * Reads keys until the page is full, or there are no more.
 *
 * @param readItems the items of these keys, in tree order; it may end with the first that makes the sum exceed the
 *   page's bytes
 */
export async function readMatchedPage(
  batches: AsyncIterable<readonly Buffer[]>,
  bounds: Pick<PageQuery, 'size' | 'bytesMax'>,
  readItems: (keys: readonly Buffer[]) => Promise<readonly string[]>,
): Promise<Page> {
  const page = createPageItems(bounds)
  for await (const keys of batches) {
    for (let from = 0; from < keys.length; ) {
      const room = bounds.size - page.count()
      if (room === 0 || page.bytes() > bounds.bytesMax) return page.finish(true)
      const some = keys.slice(from, from + room)
      from += room
      for (const item of await readItems(some)) if (!page.add(item)) return page.finish(true)
      // A first item beyond the bound fills the page, and what follows it may have been left out.
      if (page.bytes() > bounds.bytesMax && some.length > 1) return page.finish(true)
    }
  }
  return page.finish(false)
}
