/** Increments: exact sums of stored and sent numbers, alone and in batches, with any number of concurrent clients. */
import t from 'tap'
import { answers, gives, type Row, refuses, refusesOperation } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

await overStores(t, async (t, { post, addKey }) => {
  await post('remove', { selector: '*.*' })
  /** Takes the members as JSON, because a number of many digits has no other form. */
  const set = (members: string) => post('set', `{${members}}`)
  const stored = async (path: string): Promise<string> => {
    const { text } = await post('fetch', { path })
    return text.replace(/^.*"value":/, '').replace(/}$/, '')
  }

  await t.test('the sum of an increment is exact for every notation of the numbers', async (t) => {
    const long = '9'.repeat(999)
    for (const [value, increment, sum] of [
      ['1', '1', '2'],
      ['0.1', '0.2', '0.3'],
      ['12345678901234567890', '1', '12345678901234567891'],
      ['1e3', '-1.5', '998.5'],
      ['-0', '0', '0'],
      ['1.50', '0', '1.5'],
      ['  7 ', ' -7 ', '0'],
      [long, '1', `1${'0'.repeat(999)}`],
      [`1${long}`, '0', `1${long}`],
      ['1', `1${'0'.repeat(999)}`, `1${'0'.repeat(998)}1`],
      ['1e-1000', '1e-1000', `0.${'0'.repeat(999)}2`],
    ] as const) {
      await post('addAndSet', `{"path":"c","value":${value}}`)
      const name = `${value.slice(0, 30)} and ${increment.slice(0, 30)}`
      gives(t, await set(`"path":"c","increment":${increment}`), `{"path":"c","value":${sum}}`, name)
      t.equal(await stored('c'), sum, `${name}: stored`)
    }
  })

  await t.test('an increment is rejected if the current value is not a number of at most 1,000 digits', async (t) => {
    const wrong = ['"1"', 'null', '[1]', '{}', `1${'0'.repeat(1000)}`, '1e1000', `"${'1'.repeat(5000)}"`]
    for (const value of wrong) {
      await post('addAndSet', `{"path":"c","value":${value}}`)
      await answers(t, post, [['set', { path: 'c', increment: 1 }, 'not_a_number', '"c"', '1000 digits']])
      t.equal(await stored('c'), value, 'the value stays')
    }
    await post('addAndSet', `{"path":"c","value":${'9'.repeat(1000)}}`)
    await post('add', { path: 'empty' })
    await post('addAndSet', { path: 'gone', value: 1, properties: { DONT_RETAIN_VALUE: 'true' } })
    await post('addAndSet', { path: 's', type: 'string', value: '1' })
    await answers(t, post, [
      ...['c', 'empty', 'gone'].map((path): Row => ['set', { path, increment: 1 }, 'not_a_number', `"${path}"`]),
      ['set', { path: 's', increment: 1 }, 'incompatible_type'],
      ['set', { path: 's', increment: 1, type: 'string' }, 'not_a_number'],
      ['set', { path: 'nothing', increment: 1 }, 'no_such_topic'],
    ])
  })

  await t.test('an increment must be a number of at most 1,000 digits', async (t) => {
    await post('addAndSet', { path: 'c', value: 0 })
    const wrong = [
      ['"1"', 'the string "1"'],
      ['null', 'null'],
      ['[1]', 'an array'],
      [`1${'0'.repeat(1000)}`, 'at most 1000 digits'],
      ['1e1000', 'at most 1000 digits'],
      ['1e-1001', 'at most 1000 digits'],
    ] as const
    await answers(t, post, [
      ...wrong.map(([text, found]): Row => {
        return ['set', `{"path":"c","increment":${text}}`, 'invalid_parameter', '"increment"', found]
      }),
      ['set', { path: 'c', increment: 1, value: 1 }, 'invalid_parameter', '"increment"', '"value"'],
      ['set', { increment: 1 }, 'missing_parameter', '"path"'],
      ['set', '{"path":"c","increment":1,"increment":1}', 'duplicate_parameter', '"increment"'],
    ])
    t.equal(await stored('c'), '0')
  })

  await t.test('an increment obeys constraints and can be an operation of a batch', async (t) => {
    await post('addAndSet', { path: 'c', value: 5 })
    const constrained = await set('"path":"c","increment":1,"constraint":{"value":5}')
    gives(t, constrained, '{"path":"c","value":6}', 'a constraint that holds')
    const again = await set('"path":"c","increment":1,"constraint":{"value":5}')
    refuses(t, again, 409, 'unsatisfied_constraint', 'a constraint that does not hold')
    const batch = await post('batch', {
      operations: [
        { op: 'increment', path: 'c', increment: 10 },
        { op: 'increment', path: 'c', increment: 0.5 },
        { op: 'addAndSet', path: 'new', value: 1 },
        { op: 'increment', path: 'new', increment: 1 },
        { op: 'set', path: 'c', value: 100, constraint: { value: 16.5 } },
        { op: 'increment', path: 'c', increment: -1 },
        { op: 'remove', path: 'new' },
        { op: 'addAndSet', path: 'new', value: 7 },
        { op: 'increment', path: 'new', increment: 1, constraint: { value: 7 } },
      ],
    })
    gives(
      t,
      batch,
      '{"results":[{"path":"c","value":16},{"path":"c","value":16.5},{"path":"new","created":true},{"path":"new","value":2},' +
        '{"path":"c"},{"path":"c","value":99},{"removed":1},{"path":"new","created":true},{"path":"new","value":8}]}',
      'each operation sees those before it',
    )
    t.strictSame([await stored('c'), await stored('new')], ['99', '8'])
    const undone = await post('batch', {
      operations: [
        { op: 'increment', path: 'c', increment: 1 },
        { op: 'increment', path: 'nothing', increment: 1 },
      ],
    })
    t.match(JSON.parse(undone.text), { code: 'no_such_topic', operation: 1 })
    t.equal(await stored('c'), '99', 'no operation is applied if one is rejected')
    const each = await post('batch', {
      atomic: false,
      operations: [
        { op: 'increment', path: 'c', increment: 1 },
        { op: 'increment', path: 's', increment: 1, type: 'string' },
        { op: 'increment', path: 'c', increment: 1 },
      ],
    })
    const { results } = JSON.parse(each.text) as { results: { code?: string; value?: number }[] }
    t.strictSame(
      results.map(({ code, value }) => code ?? value),
      [100, 'not_a_number', 101],
    )
    const named = await post('batch', { operations: [{ op: 'set', path: 'c', increment: 1 }] })
    gives(t, named, '{"results":[{"path":"c","value":102}]}', 'an increment in a set operation')
    const both = await post('batch', { operations: [{ op: 'increment', path: 'c', increment: 1, value: 1 }] })
    refusesOperation(t, both, 400, 'unknown_parameter', 0, 'a value next to the increment')
  })

  await t.test('an increment needs the permissions to set and to fetch', async (t) => {
    await post('addAndSet', { path: 'c', value: 1 })
    const setting = await addKey('increment-set', { allow: ['set'] })
    const reading = await addKey('increment-both', { allow: ['set', 'fetch'], under: ['c'] })
    const body = { path: 'c', increment: 1 }
    refuses(t, await post('set', body, { token: setting }), 403, 'forbidden_operation', 'only the permission to set')
    gives(t, await post('set', body, { token: reading }), '{"path":"c","value":2}', 'both permissions')
    const elsewhere = await post('set', { path: 'new', increment: 1 }, { token: reading })
    refuses(t, elsewhere, 403, 'forbidden_path', 'outside its subtrees')
  })

  await t.test('64 concurrent clients lose no increment of a topic, and each gets its own response', async (t) => {
    await post('addAndSet', { path: 'c', value: 0 })
    const clients = 64
    const rounds = 20
    const values = await Promise.all(
      Array.from({ length: clients }, async () => {
        const own: number[] = []
        for (let i = 0; i < rounds; i++) {
          const { text } = await post('set', { path: 'c', increment: 1 })
          own.push((JSON.parse(text) as { value: number }).value)
        }
        return own
      }),
    )
    t.ok(
      values.every((own) => own.every((value, i) => i === 0 || value > (own[i - 1] ?? 0))),
      'the sums that a client gets increase',
    )
    t.equal(new Set(values.flat()).size, clients * rounds, 'no two responses have the same sum')
    t.equal(await stored('c'), String(clients * rounds))
  })
})
