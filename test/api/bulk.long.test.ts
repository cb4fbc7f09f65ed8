/**
 * Ten thousand topics: added, fetched page by page, removed by selector, with correct counts.
 */
import t from 'tap'
import { gives } from '../support/expected-answers.js'
import { treeOrder } from '../support/models/model.js'
import { pathsOf } from '../support/service/client.js'
import { overWorkers } from '../support/service/over-stores.js'

const topics = 10_000

/** A tree of three levels, whose order differs from that of the numbers. */
const pathOf = (number: number) => `bulk/${number % 10}/${Math.floor(number / 10) % 100}/${Math.floor(number / 1000)}`

await overWorkers(t, async (t, server) => {
  const { post, client } = server
  const paths = Array.from({ length: topics }, (_, number) => pathOf(number))

  await t.test('every topic is created', async (t) => {
    const writers = server.connect(64)
    const answers = await Promise.all(paths.map((path, value) => writers.post('addAndSet', { path, value })))
    t.equal(answers.filter(({ text }) => text.endsWith('"created":true}')).length, topics)
    for (const path of ['bulk', 'bulk-', 'bul', 'bulkk/0']) await post('addAndSet', { path, value: 'beside' })
  })

  const inOrder = [...paths].sort(treeOrder)

  for (const size of [100, 1000]) {
    await t.test(`pages of ${size} hold every topic in tree order, each once with its value`, async (t) => {
      const pages = await client.walk('?bulk/', { size })
      t.equal(pages.length, topics / size, 'the last full page says that nothing follows')
      t.strictSame(pathsOf(pages), inOrder, 'every path')
      const values = new Map(pages.flatMap(({ results }) => results.map(({ path, value }) => [path, value] as const)))
      t.ok(
        paths.every((path, value) => values.get(path) === value),
        'every value',
      )
    })
  }

  await t.test('a selector removes exactly what it matches', async (t) => {
    gives(t, await post('remove', { selector: '*bulk/3//' }), '{"removed":1000}', 'a subtree')
    gives(t, await post('remove', { selector: '?bulk/[0-9]/99/[0-9]' }), '{"removed":90}', 'a pattern')
    gives(t, await post('remove', { selector: '?bulk/' }), '{"removed":8910}', 'all that is left')
    gives(t, await post('remove', { selector: '?bulk/' }), '{"removed":0}', 'nothing is left')
    t.strictSame(pathsOf(await client.walk('*.*')), ['bul', 'bulk', 'bulk-', 'bulkk/0'], 'the topics beside it remain')
  })
})
