/** Topics with paths of maximum length: the bounds of every range around them are longer than any key. */
import { join } from 'node:path'
import t from 'tap'
import { pathBytesMax } from '../../dist/settings/limits.js'
import { encodeKey } from '../../dist/topics/key.js'
import { type Path, parsePath } from '../../dist/topics/path.js'
import { keyAfter, rangesFrom, subtreeRange, topicRange } from '../../dist/topics/range.js'
import { openStore, readItems, single, waiting } from '../support/stores/store.js'

const path = (text: string): Path => parsePath(text) as Path
const paths = ['a', 'b', 'é'].map((last) => path(`t/${'x'.repeat(pathBytesMax - 2 - Buffer.byteLength(last))}${last}`))

t.test('topics with paths of maximum length are stored, walked and removed like any other topics', async (t) => {
  const store = openStore(t, join(t.testdir(), 'db'))
  for (const each of paths)
    await single.addAndSet(store, { path: each, type: 'json', properties: {}, removal: undefined }, Buffer.from('1'))

  const plan = { ranges: [subtreeRange(path('t'))], matcher: undefined }
  const pathsAfter = async (after?: Path): Promise<string[]> => {
    const { items } = await readItems(store, { plan, size: 10, after })
    return items.map((item) => item.path)
  }
  t.same(await pathsAfter(), paths)
  for (const [index, each] of paths.entries()) {
    t.same(await pathsAfter(each), paths.slice(index + 1), 'a page starts after the longest path')
    const itself = { ranges: [topicRange(each)], matcher: undefined }
    const descendants = { ranges: rangesFrom([subtreeRange(each)], keyAfter(encodeKey(each))), matcher: undefined }
    t.equal(await store.removeMatches(descendants, waiting), 0, 'the topic has no descendants')
    t.equal(await store.removeMatches(itself, waiting), 1, 'only the topic is removed')
    t.same(await pathsAfter(), paths.slice(index + 1))
  }
})
