/**
 * addAndSet: creates a topic with its value in one call, or sets the value of an existing compatible topic.
 */
import t from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

await overStores(t, async (t, { post }) => {
  await t.test('addAndSet creates an absent topic with its value', async (t) => {
    gives(t, await post('addAndSet', { path: 'a/b', value: 1 }), '{"path":"a/b","created":true}', 'created')
    gives(t, await post('fetch', { path: 'a/b' }), '{"path":"a/b","type":"json","value":1}', 'with its value')
    const string = await post('addAndSet', { path: 's', type: 'string', value: 'x' })
    gives(t, string, '{"path":"s","created":true}', 'a string topic')
    gives(
      t,
      await post('fetch', { path: 's', type: 'string' }),
      '{"path":"s","type":"string","value":"x"}',
      'its value',
    )
  })

  await t.test('addAndSet updates a compatible topic', async (t) => {
    gives(t, await post('addAndSet', { path: '/a/b/', value: 2 }), '{"path":"a/b","created":false}', 'updated')
    gives(t, await post('fetch', { path: 'a/b' }), '{"path":"a/b","type":"json","value":2}', 'the new value')
    await post('add', { path: 'bare' })
    gives(
      t,
      await post('addAndSet', { path: 'bare', value: null }),
      '{"path":"bare","created":false}',
      'a topic without a value',
    )
    gives(t, await post('fetch', { path: 'bare' }), '{"path":"bare","type":"json","value":null}', 'null is a value')
  })

  await t.test('addAndSet on a topic of the other type is refused and changes nothing', async (t) => {
    const asString = await post('addAndSet', { path: 'a/b', type: 'string', value: 'x' })
    refuses(t, asString, 400, 'incompatible_type', 'a json topic', '"a/b"', 'json', 'string')
    gives(t, await post('fetch', { path: 'a/b' }), '{"path":"a/b","type":"json","value":2}', 'its value stays')
    refuses(t, await post('addAndSet', { path: 's', value: 'y' }), 400, 'incompatible_type', 'a string topic', '"s"')
    gives(
      t,
      await post('fetch', { path: 's', type: 'string' }),
      '{"path":"s","type":"string","value":"x"}',
      'its value stays',
    )
  })

  await t.test('a removed topic can be created again, with either type', async (t) => {
    await post('remove', { path: 'a/b' })
    const again = await post('addAndSet', { path: 'a/b', type: 'string', value: 'new' })
    gives(t, again, '{"path":"a/b","created":true}', 'created again')
    gives(
      t,
      await post('fetch', { path: 'a/b', type: 'string' }),
      '{"path":"a/b","type":"string","value":"new"}',
      'as a string',
    )
  })

  await t.test('path and value are required, and a string topic accepts strings only', async (t) => {
    refuses(t, await post('addAndSet', { path: 'v' }), 400, 'missing_parameter', 'no value', '"value"')
    refuses(t, await post('addAndSet', { value: 1 }), 400, 'missing_parameter', 'no path', '"path"')
    for (const value of [5, null, true, ['x'], { x: 'x' }]) {
      const answer = await post('addAndSet', { path: 'v', type: 'string', value })
      refuses(t, answer, 400, 'invalid_parameter', JSON.stringify(value), '"value"', 'string')
    }
    refuses(t, await post('fetch', { path: 'v', type: 'string' }), 400, 'no_such_topic', 'nothing was created')
  })
})
