/**
 * Types: a topic has one type for as long as it exists; a fetch returns one, and topics of the other cost it nothing.
 */

import t from 'tap'
import { medianOf } from '../support/elements.js'
import { gives, refuses } from '../support/expected-answers.js'
import { pathsOf } from '../support/service/client.js'
import { overStores } from '../support/service/over-stores.js'
import { startServer } from '../support/service/server.js'

await overStores(t, async (t, { post, client }) => {
  await t.test('the type is json where a request names none', async (t) => {
    await post('add', { path: 'a' })
    await post('addAndSet', { path: 'b', value: 'text' })
    gives(t, await post('fetch', { path: 'a', type: 'json' }), '{"path":"a","type":"json"}', 'add')
    gives(t, await post('fetch', { path: 'b', type: 'json' }), '{"path":"b","type":"json","value":"text"}', 'addAndSet')
    gives(t, await post('set', { path: 'a', value: 'x', type: 'json' }), '{"path":"a"}', 'set')
    gives(t, await post('fetch', { path: 'a' }), '{"path":"a","type":"json","value":"x"}', 'fetch')
  })

  await t.test('a json topic accepts any JSON value, strings included', async (t) => {
    for (const value of ['"x"', '1', 'null', '[]', '{}']) {
      gives(t, await post('set', `{"path":"a","value":${value}}`), '{"path":"a"}', value)
    }
  })

  await t.test('a string topic accepts JSON strings only', async (t) => {
    await post('add', { path: 's', type: 'string' })
    for (const value of ['"x"', '""', '"\\u0000"', '"5"']) {
      gives(t, await post('set', `{"path":"s","type":"string","value":${value}}`), '{"path":"s"}', value)
      gives(
        t,
        await post('fetch', { path: 's', type: 'string' }),
        `{"path":"s","type":"string","value":${value}}`,
        value,
      )
    }
    for (const value of ['5', 'null', 'true', '[]', '{}', '["x"]']) {
      const answer = await post('set', `{"path":"s","type":"string","value":${value}}`)
      refuses(t, answer, 400, 'invalid_parameter', value, '"value"', 'string')
    }
    gives(
      t,
      await post('fetch', { path: 's', type: 'string' }),
      '{"path":"s","type":"string","value":"5"}',
      'the last one stays',
    )
  })

  await t.test('a path holds one topic, of one type, until it is removed', async (t) => {
    await post('add', { path: 'one', type: 'string' })
    gives(
      t,
      await post('add', { path: 'one', type: 'json' }),
      '{"path":"one","created":false}',
      'add as the other type',
    )
    refuses(t, await post('addAndSet', { path: 'one', value: 1 }), 400, 'incompatible_type', 'addAndSet', '"one"')
    refuses(t, await post('set', { path: 'one', value: 1 }), 400, 'incompatible_type', 'set', '"one"')
    refuses(t, await post('fetch', { path: 'one' }), 400, 'incompatible_type', 'fetch', '"one"')
    gives(
      t,
      await post('fetch', { path: 'one', type: 'string' }),
      '{"path":"one","type":"string"}',
      'it is still a string topic',
    )
    gives(t, await post('remove', { path: 'one' }), '{"removed":1}', 'remove')
    gives(t, await post('add', { path: 'one', type: 'json' }), '{"path":"one","created":true}', 'now it can be json')
    refuses(
      t,
      await post('fetch', { path: 'one', type: 'string' }),
      400,
      'incompatible_type',
      'it is not a string topic',
    )
  })

  await t.test('a topic without a value has no value member, alone and on a page', async (t) => {
    for (const type of ['json', 'string']) {
      await post('add', { path: `bare/${type}`, type })
      const item = `{"path":"bare/${type}","type":"${type}"}`
      gives(t, await post('fetch', { path: `bare/${type}`, type }), item, type)
      const page = `{"has_more":false,"results":[${item}]}`
      gives(t, await post('fetch', { selector: '*bare//', type }), page, `a page of ${type}`)
    }
  })

  await t.test('each type is walked separately, in tree order, and has_more is about that type', async (t) => {
    const paths = Array.from({ length: 30 }, (_, i) => `mixed/${String(i).padStart(2, '0')}`)
    for (const [i, path] of paths.entries()) await post('add', { path, type: i % 3 === 0 ? 'string' : 'json' })
    const ofType = (string: boolean) => paths.filter((_, i) => (i % 3 === 0) === string)
    for (const size of [1, 2, 10, 20, 1000]) {
      t.strictSame(
        pathsOf(await client.walk('*mixed//', { size, type: 'string' })),
        ofType(true),
        `strings, ${size} a page`,
      )
      t.strictSame(
        pathsOf(await client.walk('*mixed//', { size, type: 'json' })),
        ofType(false),
        `json, ${size} a page`,
      )
    }
    const page = await post('fetch', { selector: '*mixed//', size: 20 })
    t.match(page.text, /^{"has_more":false/, 'only strings follow the twentieth')
  })
})

// For PostgreSQL, postgres/page-cost counts the blocks that a page touches.
t.test('a page costs the same however many topics of the other type lie between', async (t) => {
  const server = await startServer(t)
  const { post } = server
  const strings = Array.from({ length: 6000 }, (_, i) => `sparse/b${String(i).padStart(5, '0')}`)
  const many = server.connect(64)
  await Promise.all(strings.map((path) => many.post('add', { path, type: 'string' })))
  for (const path of ['sparse/a', 'sparse/c', 'dense/a', 'dense/c']) await post('add', { path })
  const sparse: number[] = []
  const dense: number[] = []
  for (let turn = 0; turn < 101; turn++) {
    for (const [tree, times] of [
      ['sparse', sparse],
      ['dense', dense],
    ] as const) {
      const start = performance.now()
      const { text } = await post('fetch', { selector: `*${tree}//` })
      times.push(performance.now() - start)
      if (turn > 0) continue
      t.equal(
        text,
        `{"has_more":false,"results":[{"path":"${tree}/a","type":"json"},{"path":"${tree}/c","type":"json"}]}`,
        tree,
      )
    }
  }
  // Reading past 6,000 topics takes several times as long as a whole request.
  const [sparseMs, denseMs] = [medianOf(sparse), medianOf(dense)]
  t.ok(
    sparseMs < 2 * denseMs + 0.5,
    `${sparseMs.toFixed(2)} ms across 6,000 strings, ${denseMs.toFixed(2)} ms across none`,
  )
})
