/** Topics whose paths are as long as a path may be: every range around them has bounds that are longer than any key. */
import { join } from 'node:path'
import t from 'tap'
import { pathBytesMax } from '../../dist/limits.js'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import type { Page } from '../../dist/store/store.js'
import { encodeKey } from '../../dist/topics/key.js'
import { type Path, parsePath } from '../../dist/topics/path.js'
import { keyAfter, rangesFrom, subtreeRange, topicRange } from '../../dist/topics/range.js'

const path = (text: string): Path => parsePath(text) as Path
const paths = ['a', 'b', 'é'].map((last) => path(`t/${'x'.repeat(pathBytesMax - 2 - Buffer.byteLength(last))}${last}`))

t.test('the longest paths are stored, walked over and removed like any other', async (t) => {
  const store = openLmdbStore({ directory: join(t.testdir(), 'db') })
  t.teardown(() => store.close())
  for (const each of paths)
    await store.addAndSet({ path: each, type: 'json', properties: {}, removal: undefined }, Buffer.from('1'))

  const names = async (after: Path | undefined): Promise<Path[]> => {
    const plan = { ranges: [subtreeRange(path('t'))], matcher: undefined }
    const page = (await store.readPage(
      { plan, type: 'json', after, size: 10, bytesMax: 1e6 },
      { cancelled: false },
    )) as Page
    const items = JSON.parse(`[${page.buffer.subarray(page.start, page.end).toString()}]`) as { path: Path }[]
    return items.map((item) => item.path)
  }
  t.same(await names(undefined), paths)
  for (const [place, each] of paths.entries()) {
    t.same(await names(each), paths.slice(place + 1), 'a page begins after the longest path')
    const alone = { ranges: [topicRange(each)], matcher: undefined }
    const behind = rangesFrom([subtreeRange(each)], keyAfter(encodeKey(each)))
    t.equal(
      await store.removeMatches({ ranges: behind, matcher: undefined }, { cancelled: false }),
      0,
      'it has no descendants',
    )
    t.equal(await store.removeMatches(alone, { cancelled: false }), 1, 'it alone is removed')
    t.same(await names(undefined), paths.slice(place + 1))
  }
})
