/**
 * fetch: one topic by its path, a page of topics by a selector, and the answers where there is none.
 */
import t from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

await overStores(t, async (t, { post }) => {
  for (const path of ['a', 'a/b', 'a/c', 'a/c/x', 'a-b', 'a+b', 'a+b/c', 'aab', 'b']) {
    await post('addAndSet', { path, value: { of: path } })
  }
  await post('addAndSet', { path: 'a/s', type: 'string', value: 'text' })
  for (let i = 0; i < 12; i++) await post('addAndSet', { path: `many/${String(i).padStart(2, '0')}`, value: i })

  const item = (path: string) => `{"path":"${path}","type":"json","value":{"of":"${path}"}}`
  const page = (...paths: string[]) => `{"has_more":false,"results":[${paths.map(item).join(',')}]}`

  await t.test("a path gives the topic's path, type and value", async (t) => {
    gives(t, await post('fetch', { path: 'a' }), item('a'), 'a topic with descendants')
    gives(t, await post('fetch', { path: 'a/c/x' }), item('a/c/x'), 'a descendant')
    gives(
      t,
      await post('fetch', { path: 'a/s', type: 'string' }),
      '{"path":"a/s","type":"string","value":"text"}',
      'a string',
    )
    gives(t, await post('fetch', { path: 'a', type: 'json' }), item('a'), 'the default type, named')
  })

  await t.test('one leading and one trailing slash of a path are dropped', async (t) => {
    for (const path of ['/a/c', 'a/c/', '/a/c/']) gives(t, await post('fetch', { path }), item('a/c'), path)
    for (const path of ['//a/c', 'a/c//', 'a//c', '', '/', '//']) {
      refuses(t, await post('fetch', { path }), 400, 'invalid_path', `"${path}"`, '"path"')
    }
  })

  await t.test('a path without a topic, or with one of the other type, is refused', async (t) => {
    refuses(t, await post('fetch', { path: 'a/none' }), 400, 'no_such_topic', 'no topic', '"a/none"')
    refuses(t, await post('fetch', { path: 'many' }), 400, 'no_such_topic', 'only descendants', '"many"')
    refuses(
      t,
      await post('fetch', { path: 'a/s' }),
      400,
      'incompatible_type',
      'a string topic',
      '"a/s"',
      'string',
      'json',
    )
    refuses(
      t,
      await post('fetch', { path: 'a', type: 'string' }),
      400,
      'incompatible_type',
      'a json topic',
      'string',
      'json',
    )
  })

  await t.test('*path// gives the topic and all its descendants in tree order', async (t) => {
    gives(
      t,
      await post('fetch', { selector: '*a//' }),
      page('a', 'a/b', 'a/c', 'a/c/x'),
      'a subtree without its sibling a-b',
    )
    gives(t, await post('fetch', { selector: '*a/c//' }), page('a/c', 'a/c/x'), 'a deeper one')
    gives(t, await post('fetch', { selector: '*a/c/x//' }), page('a/c/x'), 'a leaf')
  })

  await t.test('*path// finds its subtree even if the path is also a regular expression', async (t) => {
    gives(
      t,
      await post('fetch', { selector: '*a+b//' }),
      page('a+b', 'a+b/c', 'aab'),
      'the path itself, and what it matches',
    )
    gives(t, await post('fetch', { selector: '*\\Qa+b\\E//' }), page('a+b', 'a+b/c'), 'quoted, only the path itself')
  })

  await t.test('every other form of selector gives a page too', async (t) => {
    gives(t, await post('fetch', { selector: '>a/c' }), page('a/c'), 'a path after >')
    gives(t, await post('fetch', { selector: 'a/c' }), page('a/c'), 'a path alone')
    gives(t, await post('fetch', { selector: '?a/.' }), page('a/b', 'a/c'), 'an expression per segment')
    gives(t, await post('fetch', { selector: '?a/c/' }), page('a/c/x'), 'the descendants alone')
    gives(t, await post('fetch', { selector: '?a/c//' }), page('a/c', 'a/c/x'), 'the topic and its descendants')
    gives(t, await post('fetch', { selector: '*a/' }), page('a/b', 'a/c', 'a/c/x'), 'the descendants of a whole path')
    gives(
      t,
      await post('fetch', { selector: '#>b////?a/c//////>a-b' }),
      page('a/c', 'a/c/x', 'a-b', 'b'),
      'a set of selectors',
    )
  })

  await t.test('a selector gives topics of the requested type only', async (t) => {
    const strings = '{"has_more":false,"results":[{"path":"a/s","type":"string","value":"text"}]}'
    gives(t, await post('fetch', { selector: '*a//', type: 'string' }), strings, 'the string among json topics')
    gives(t, await post('fetch', { selector: '>a/s' }), page(), 'no json topic there')
  })

  await t.test('a selector that matches nothing gives an empty page', async (t) => {
    for (const selector of ['*none//', '>none', 'none', '?none/.*', '*none.*', '#>none////>never']) {
      gives(t, await post('fetch', { selector }), '{"has_more":false,"results":[]}', selector)
    }
  })

  await t.test('a page has ten results unless size says otherwise', async (t) => {
    const many = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => {
        const path = `many/${String(from + i).padStart(2, '0')}`
        return `{"path":"${path}","type":"json","value":${from + i}}`
      }).join(',')
    gives(
      t,
      await post('fetch', { selector: '*many//' }),
      `{"has_more":true,"results":[${many(0, 10)}]}`,
      'ten by default',
    )
    const last = await post('fetch', { selector: '*many//', after: 'many/09' })
    gives(t, last, `{"has_more":false,"results":[${many(10, 12)}]}`, 'after is exclusive')
    const two = await post('fetch', { selector: '*many//', size: 2 })
    gives(t, two, `{"has_more":true,"results":[${many(0, 2)}]}`, 'a size of 2')
    const all = await post('fetch', { selector: '*many//', size: 12 })
    gives(t, all, `{"has_more":false,"results":[${many(0, 12)}]}`, 'exactly as many as there are')
  })

  await t.test('exactly one of path and selector is required', async (t) => {
    refuses(t, await post('fetch', {}), 400, 'path_or_selector', 'neither', '"path"', '"paths"', '"selector"')
    refuses(
      t,
      await post('fetch', { path: 'a', selector: '*a//' }),
      400,
      'path_or_selector',
      'both',
      '"path"',
      '"selector"',
    )
  })

  await t.test('an invalid selector is refused', async (t) => {
    for (const selector of [
      '',
      '?',
      '*',
      '$a',
      '%a',
      '&a',
      '<a',
      '?a/(',
      '*(?=a)b',
      '*(a)\\1',
      '*a(b',
      '*a(b/',
      '>a//b',
      '#',
      '#>a////%b',
    ]) {
      refuses(t, await post('fetch', { selector }), 400, 'invalid_selector', `"${selector}"`, '"selector"')
    }
  })
})
