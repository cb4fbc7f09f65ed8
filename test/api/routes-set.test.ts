/**
 * set: replaces the value of an existing topic, and creates none.
 */
import t from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

await overStores(t, async (t, { post }) => {
  await post('add', { path: 'a/b' })
  await post('add', { path: 's', type: 'string' })

  await t.test('set replaces the value', async (t) => {
    for (const value of ['1', '"text"', 'true', 'false', 'null', '[]', '{}', '[1,[2,{"a":null}]]', '{"a":{"b":[]}}']) {
      gives(t, await post('set', `{"path":"a/b","value":${value}}`), '{"path":"a/b"}', `set to ${value}`)
      gives(
        t,
        await post('fetch', { path: 'a/b' }),
        `{"path":"a/b","type":"json","value":${value}}`,
        `fetch of ${value}`,
      )
    }
  })

  await t.test('set to the value that the topic already has is a 200', async (t) => {
    for (const _ of [1, 2, 3])
      gives(t, await post('set', { path: 'a/b', value: 'same' }), '{"path":"a/b"}', 'the same value')
  })

  await t.test('set answers with the path as it is stored', async (t) => {
    gives(t, await post('set', { path: '/a/b/', value: 'slashes' }), '{"path":"a/b"}', 'without the outer slashes')
    gives(
      t,
      await post('fetch', { path: 'a/b' }),
      '{"path":"a/b","type":"json","value":"slashes"}',
      'it is the same topic',
    )
  })

  await t.test('a string topic is set with its type named', async (t) => {
    gives(t, await post('set', { path: 's', type: 'string', value: 'x' }), '{"path":"s"}', 'a string')
    gives(
      t,
      await post('fetch', { path: 's', type: 'string' }),
      '{"path":"s","type":"string","value":"x"}',
      'its value',
    )
    const answer = await post('set', { path: 's', type: 'string', value: 5 })
    refuses(t, answer, 400, 'invalid_parameter', 'a number', '"value"', 'string')
  })

  await t.test('set of an absent topic, or one of the other type, is refused and changes nothing', async (t) => {
    refuses(t, await post('set', { path: 'a', value: 1 }), 400, 'no_such_topic', 'a path with descendants only', '"a"')
    refuses(t, await post('fetch', { path: 'a' }), 400, 'no_such_topic', 'it was not created')
    await post('set', { path: 'a/b', value: 'kept' })
    refuses(
      t,
      await post('set', { path: 'a/b', type: 'string', value: 'x' }),
      400,
      'incompatible_type',
      'a json topic',
      '"a/b"',
    )
    gives(t, await post('fetch', { path: 'a/b' }), '{"path":"a/b","type":"json","value":"kept"}', 'its value stays')
    refuses(t, await post('set', { path: 's', value: 'x' }), 400, 'incompatible_type', 'a string topic', '"s"')
  })

  await t.test('set leaves the descendants of the topic alone', async (t) => {
    await post('addAndSet', { path: 'p', value: 1 })
    await post('addAndSet', { path: 'p/q', value: 2 })
    await post('set', { path: 'p', value: 3 })
    gives(t, await post('fetch', { path: 'p/q' }), '{"path":"p/q","type":"json","value":2}', 'a descendant')
  })

  await t.test('path and value are required, and a selector is refused', async (t) => {
    refuses(t, await post('set', { path: 'a/b' }), 400, 'missing_parameter', 'no value', '"value"')
    refuses(t, await post('set', { value: 1 }), 400, 'missing_parameter', 'no path', '"path"')
    const answer = await post('set', { selector: '*a//', path: 'a', value: 1 })
    refuses(t, answer, 400, 'unknown_parameter', 'a selector', '"selector"')
  })
})
