/**
 * add: creates a topic without a value, and succeeds without changes where a topic exists.
 */
import t from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

await overStores(t, async (t, { post }) => {
  await t.test('add creates a topic that has no value yet', async (t) => {
    gives(t, await post('add', { path: 'a' }), '{"path":"a","created":true}', 'the first time')
    gives(t, await post('fetch', { path: 'a' }), '{"path":"a","type":"json"}', 'no value member')
    gives(t, await post('add', { path: 's', type: 'string' }), '{"path":"s","created":true}', 'a string topic')
    gives(
      t,
      await post('fetch', { path: 's', type: 'string' }),
      '{"path":"s","type":"string"}',
      'no value member either',
    )
    const page = '{"has_more":false,"results":[{"path":"a","type":"json"}]}'
    gives(t, await post('fetch', { selector: '*a//' }), page, 'on a page as well')
  })

  await t.test('add of an existing topic is a 200 and changes nothing, whatever its type', async (t) => {
    await post('addAndSet', { path: 'p', value: 1 })
    gives(t, await post('add', { path: 'p' }), '{"path":"p","created":false}', 'again')
    gives(t, await post('add', { path: 'p', type: 'string' }), '{"path":"p","created":false}', 'as the other type')
    const properties = { DONT_RETAIN_VALUE: 'true' }
    gives(t, await post('add', { path: '/p/', properties }), '{"path":"p","created":false}', 'with other properties')
    gives(t, await post('fetch', { path: 'p' }), '{"path":"p","type":"json","value":1}', 'type and value stay')
    await post('set', { path: 'p', value: 2 })
    gives(t, await post('fetch', { path: 'p' }), '{"path":"p","type":"json","value":2}', 'values are still kept')
  })

  await t.test('add creates neither ancestors nor descendants', async (t) => {
    gives(t, await post('add', { path: 'x/y/z' }), '{"path":"x/y/z","created":true}', 'a deep path')
    for (const path of ['x', 'x/y', 'x/y/z/w']) refuses(t, await post('fetch', { path }), 400, 'no_such_topic', path)
    gives(t, await post('add', { path: 'x' }), '{"path":"x","created":true}', 'an ancestor, later')
  })

  await t.test('an added topic can be set', async (t) => {
    await post('add', { path: 'later' })
    gives(t, await post('set', { path: 'later', value: [1] }), '{"path":"later"}', 'set')
    gives(t, await post('fetch', { path: 'later' }), '{"path":"later","type":"json","value":[1]}', 'fetch')
  })

  await t.test('any text without empty segments, U+0000 or lone surrogates is a path', async (t) => {
    for (const path of [
      ' ',
      'a b',
      'é',
      'e\u0301',
      '日本/語',
      '😀',
      '\u0001\u001f\u007f',
      '"\\',
      '*?#>',
      '..',
      '.',
      'a\nb',
      '\ufeff',
    ]) {
      gives(t, await post('add', { path }), JSON.stringify({ path, created: true }), JSON.stringify(path))
      gives(
        t,
        await post('fetch', { path }),
        JSON.stringify({ path, type: 'json' }),
        `fetch of ${JSON.stringify(path)}`,
      )
    }
    for (const path of ['', '/', '//', 'a//b', '//a', 'a//', 'a\0b', '\0']) {
      refuses(t, await post('add', { path }), 400, 'invalid_path', JSON.stringify(path), '"path"')
    }
    for (const path of ['\\ud800', 'a\\udc00b', '\\udc00\\ud800', 'a/\\ud83d/b']) {
      refuses(t, await post('add', `{"path":"${path}"}`), 400, 'invalid_path', path, '"path"', 'surrogate')
    }
  })

  await t.test('paths are compared by their bytes, without normalisation', async (t) => {
    gives(t, await post('add', { path: 'n/é' }), '{"path":"n/é","created":true}', 'composed')
    gives(t, await post('add', { path: 'n/e\u0301' }), '{"path":"n/e\u0301","created":true}', 'decomposed')
    gives(t, await post('add', { path: 'n/É' }), '{"path":"n/É","created":true}', 'another case')
    gives(t, await post('add', '{"path":"n/\\u00e9"}'), '{"path":"n/é","created":false}', 'written as an escape')
  })

  await t.test('add accepts path, type and properties only', async (t) => {
    refuses(t, await post('add', {}), 400, 'missing_parameter', 'no path', '"path"')
    refuses(t, await post('add', { path: 'v', value: 1 }), 400, 'unknown_parameter', 'a value', '"value"')
    refuses(t, await post('fetch', { path: 'v' }), 400, 'no_such_topic', 'nothing was created')
  })
})
