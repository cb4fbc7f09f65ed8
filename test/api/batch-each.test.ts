/** Non-atomic batches: each operation is executed or rejected on its own, and all share one commit. */
import t from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

await overStores(t, async (t, { post, addKey }) => {
  await post('remove', { selector: '*.*' })
  const each = (operations: readonly unknown[], token?: string) =>
    post('batch', { operations, atomic: false }, token === undefined ? {} : { token })
  const results = (text: string): readonly { code?: string; message?: string }[] =>
    (JSON.parse(text) as { results: { code?: string; message?: string }[] }).results

  await t.test('rejected operations change nothing, and the other operations are executed', async (t) => {
    await post('addAndSet', { path: 's', type: 'string', value: 'x' })
    const answer = await each([
      { op: 'addAndSet', path: 'a', value: 1 },
      { op: 'set', path: 'no', value: 1 },
      { op: 'set', path: 's', value: 1 },
      { op: 'add', path: 'a' },
      { op: 'set', path: 'a', value: 2, constraint: { value: 7 } },
      { op: 'set', path: 'a', value: 3, constraint: { value: 1 } },
      { op: 'remove', path: 'none' },
      { op: 'addAndSet', path: 'a', value: 4, properties: { REMOVAL: 'when no updates for 1d' } },
    ])
    t.equal(answer.status, 200)
    t.strictSame(
      results(answer.text).map((result) => result.code ?? JSON.stringify(result)),
      [
        '{"path":"a","created":true}',
        'no_such_topic',
        'incompatible_type',
        '{"path":"a","created":false}',
        'unsatisfied_constraint',
        '{"path":"a"}',
        '{"removed":0}',
        'incompatible_properties',
      ],
    )
    gives(t, await post('fetch', { path: 'a' }), '{"path":"a","type":"json","value":3}', 'the last accepted value')
  })

  await t.test('a rejected operation gets the same error as on its own route', async (t) => {
    for (const [route, body] of [
      ['set', { path: 'no', value: 1 }],
      ['set', { path: 's', value: 1 }],
      ['set', { path: 'a//b', value: 1 }],
      ['add', { path: 'a', constraint: { no_topic: true } }],
      ['set', { path: 'a' }],
      ['addAndSet', { path: 'a', type: 'string', value: 1 }],
    ] as const) {
      const [alone, inBatch] = [await post(route, body), await each([{ op: route, ...body }])]
      t.ok(alone.status >= 400, route)
      gives(t, inBatch, `{"results":[${alone.text}]}`, `${route} ${JSON.stringify(body)}`)
    }
    const odd = results((await each([1, { op: 'none' }, { op: 'set', path: 'a', value: 1, valeu: 2 }, {}])).text)
    t.strictSame(
      odd.map(({ code }) => code),
      ['invalid_parameter', 'invalid_parameter', 'unknown_parameter', 'missing_parameter'],
    )
  })

  await t.test('operations that the key does not permit are rejected individually', async (t) => {
    const limited = await addKey('each-below-k', { allow: ['set', 'add'], under: ['k'] })
    const { status, text } = await each(
      [
        { op: 'addAndSet', path: 'k/1', value: 1 },
        { op: 'addAndSet', path: 'other', value: 1 },
        { op: 'remove', path: 'k/1' },
        { op: 'set', path: 'k/1', value: 2, constraint: { value: 1 } },
      ],
      limited,
    )
    t.equal(status, 200)
    t.strictSame(
      results(text).map(({ code }) => code),
      [undefined, 'forbidden_path', 'forbidden_operation', 'forbidden_operation'],
    )
    gives(t, await post('fetch', { path: 'k/1' }), '{"path":"k/1","type":"json","value":1}', 'the first was executed')
  })

  await t.test('a batch whose operations are all rejected returns 200', async (t) => {
    const before = await post('fetch', { selector: '*.*', type: 'any', with_version: true })
    const { status, text } = await each(
      Array.from({ length: 1000 }, (_, i) => ({ op: 'set', path: `no/${i}`, value: 1 })),
    )
    t.equal(status, 200)
    t.ok(results(text).length === 1000 && results(text).every(({ code }) => code === 'no_such_topic'))
    gives(t, await post('fetch', { selector: '*.*', type: 'any', with_version: true }), before.text, 'nothing changed')
  })

  await t.test('a rejected operation at any position does not affect the other operations', async (t) => {
    for (const refused of [0, 1, 499, 998, 999]) {
      const operations = Array.from({ length: 1000 }, (_, i) =>
        i === refused ? { op: 'set', path: `no/${i}`, value: 1 } : { op: 'addAndSet', path: `m/${i}`, value: refused },
      )
      const found = results((await each(operations)).text)
      t.equal(
        found.findIndex(({ code }) => code !== undefined),
        refused,
      )
      t.equal(found.filter(({ code }) => code !== undefined).length, 1)
    }
    gives(t, await post('fetch', { selector: '*m//', count: true }), '{"count":1000}', 'all were written')
  })

  await t.test('a read sees either all accepted operations of a batch or none', async (t) => {
    const paths = ['p/1', 'p/2', 'p/3']
    let isOver = false
    const writing = (async () => {
      for (let value = 0; !isOver; value++) {
        const [first, ...others] = paths.map((path) => ({ op: 'addAndSet', path, value }))
        await each([first, { op: 'set', path: 'no', value }, ...others])
      }
    })()
    for (let reads = 0; reads < 100; reads++) {
      const { text } = await post('fetch', { paths })
      const values = new Set((JSON.parse(text) as { results: { value?: number }[] }).results.map(({ value }) => value))
      if (values.size !== 1) t.fail(text)
    }
    isOver = true
    await writing
    t.pass('the batch is one commit')
  })

  await t.test('`atomic` defaults to true and accepts only booleans', async (t) => {
    const operations = [
      { op: 'addAndSet', path: 'atomic', value: 1 },
      { op: 'set', path: 'no', value: 1 },
    ]
    for (const body of [{ operations }, { operations, atomic: true }]) {
      const { status, text } = await post('batch', body)
      t.equal(status, 400)
      t.match(JSON.parse(text), { code: 'no_such_topic', operation: 1 }, JSON.stringify(body))
    }
    refuses(t, await post('fetch', { path: 'atomic' }), 400, 'no_such_topic', 'nothing was written')
    for (const atomic of [0, 'false', null, [], {}]) {
      const answer = await post('batch', { operations, atomic })
      refuses(t, answer, 400, 'invalid_parameter', JSON.stringify(atomic), '"atomic"', 'true or false')
    }
    const none = await post('batch', { operations: [], atomic: false })
    refuses(t, none, 400, 'invalid_parameter', 'no operations', '"operations"')
    const many = Array.from({ length: 1001 }, () => operations[0])
    refuses(t, await each(many), 400, 'invalid_parameter', 'one too many', '1 to 1000 operations')
  })
})
