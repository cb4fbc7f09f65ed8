/**
 * Batches: the results of operations, each of which sees the earlier ones; rejected operations, which change nothing; and the
 * limits on operations and bytes.
 */
import t, { type Test } from 'tap'
import { gives, refuses, refusesOperation } from '../support/expected-answers.js'
import type { Answer } from '../support/service/client.js'
import { overStores } from '../support/service/over-stores.js'
import type { Server } from '../support/service/server.js'

type Operation = Readonly<Record<string, unknown>>

const nothing = '{"has_more":false,"results":[]}'

await overStores(t, async (t, server) => {
  const { post } = server
  const batch = (...operations: readonly Operation[]): Promise<Answer> => post('batch', { operations })
  const results = (...texts: readonly string[]): string => `{"results":[${texts.join(',')}]}`

  await t.test('each result equals the response that the operation gets on its own route', async (t) => {
    await post('addAndSet', { path: 'r/there', value: 1, properties: { a: 'b' } })
    const answer = await batch(
      { op: 'addAndSet', path: '/r/new/', value: 1, type: 'json', properties: { note: 'x' } },
      { op: 'addAndSet', path: 'r/there', value: 2, properties: { a: 'b' } },
      { op: 'add', path: 'r/"é"', type: 'string' },
      { op: 'add', path: 'r/there', type: 'string', properties: { other: 'ignored' } },
      { op: 'set', path: 'r/"é"', type: 'string', value: 'text' },
      { op: 'remove', path: 'r/there' },
      { op: 'remove', path: 'r/none' },
    )
    const expected = results(
      '{"path":"r/new","created":true}',
      '{"path":"r/there","created":false}',
      '{"path":"r/\\"é\\"","created":true}',
      '{"path":"r/there","created":false}',
      '{"path":"r/\\"é\\""}',
      '{"removed":1}',
      '{"removed":0}',
    )
    gives(t, answer, expected, 'seven operations')
    gives(t, await post('fetch', { path: 'r/new' }), '{"path":"r/new","type":"json","value":1}', 'a created topic')
    const text = await post('fetch', { path: 'r/"é"', type: 'string' })
    gives(t, text, '{"path":"r/\\"é\\"","type":"string","value":"text"}', 'a string')
    refuses(t, await post('fetch', { path: 'r/there' }), 400, 'no_such_topic', 'a removed topic')
    const other = await post('addAndSet', { path: 'r/new', value: 1, properties: { note: 'y' } })
    refuses(t, other, 400, 'incompatible_properties', 'the properties were stored')
  })

  await t.test('an operation sees the effects of earlier operations in its batch', async (t) => {
    await post('addAndSet', { path: 'o/type', value: 1 })
    const retyped = await batch(
      { op: 'remove', path: 'o/type' },
      { op: 'add', path: 'o/type', type: 'string' },
      { op: 'set', path: 'o/type', type: 'string', value: 'now a string' },
    )
    gives(t, retyped, results('{"removed":1}', '{"path":"o/type","created":true}', '{"path":"o/type"}'), 'retyped')
    const string = await post('fetch', { path: 'o/type', type: 'string' })
    gives(t, string, '{"path":"o/type","type":"string","value":"now a string"}', 'a topic of the other type')

    const chained = await batch(
      { op: 'addAndSet', path: 'o/c', value: 1, constraint: { no_topic: true } },
      { op: 'set', path: 'o/c', value: 2, constraint: { value: 1 } },
      { op: 'addAndSet', path: 'o/c', value: [3, 3], constraint: { value: 2 } },
      { op: 'set', path: 'o/c', value: 4, constraint: { value: [3, 3] } },
    )
    t.equal(chained.status, 200, 'constraints match values set earlier in the batch')
    gives(t, await post('fetch', { path: 'o/c' }), '{"path":"o/c","type":"json","value":4}', 'the last value')

    const brief = await batch(
      { op: 'add', path: 'o/brief' },
      { op: 'add', path: 'o/brief', constraint: { no_value: true } },
      { op: 'remove', path: 'o/brief' },
      { op: 'remove', path: 'o/brief', constraint: { no_topic: true } },
    )
    const created = '{"path":"o/brief","created":'
    gives(
      t,
      brief,
      results(`${created}true}`, `${created}false}`, '{"removed":1}', '{"removed":0}'),
      'created, removed',
    )
    refuses(t, await post('fetch', { path: 'o/brief' }), 400, 'no_such_topic', 'the topic is gone')

    const replaced = await batch(
      { op: 'remove', path: 'o/c' },
      { op: 'add', path: 'o/c' },
      { op: 'remove', path: 'o/type' },
    )
    t.equal(replaced.status, 200, 'a topic is replaced')
    gives(t, await post('fetch', { path: 'o/c' }), '{"path":"o/c","type":"json"}', 'the new one has no value')
    const late = await batch({ op: 'set', path: 'o/late', value: 1 }, { op: 'add', path: 'o/late' })
    refusesOperation(t, late, 400, 'no_such_topic', 0, 'no operation sees a later one', '"o/late"')
  })

  await t.test('a batch reports its first rejected operation and changes nothing', (t) => refused(t, server, batch))

  await t.test('a batch may have 1 to 1,000 operations', async (t) => {
    const adds = (count: number): Operation[] =>
      Array.from({ length: count }, (_, i) => ({ op: 'addAndSet', path: `n/${i}`, value: i }))
    const text = (count: number): string =>
      results(...adds(count).map(({ path }) => `{"path":"${path}","created":true}`))
    gives(t, await batch(...adds(1)), text(1), 'one')
    await post('remove', { selector: '*n//' })
    const beyond = [400, 'invalid_parameter', '1,001', '"operations"', 'an array of 1001', '1 to 1000'] as const
    refuses(t, await batch(...adds(1001)), ...beyond)
    gives(t, await post('fetch', { selector: '*n//' }), nothing, 'nothing was created')
    gives(t, await batch(...adds(1000)), text(1000), '1,000')
    gives(t, await post('remove', { selector: '*n//' }), '{"removed":1000}', 'all of them')
    refuses(t, await batch(), 400, 'invalid_parameter', 'no operations', '"operations"', 'an empty array', '1 to 1000')
  })

  await t.test('the body of a batch has the same size limit as any other body', async (t) => {
    const around = '{"operations":[{"op":"addAndSet","path":"big","value":""}]}'
    const filled = (bytes: number): string => around.replace('""', `"${'x'.repeat(bytes - around.length)}"`)
    gives(t, await post('batch', filled(2 ** 20)), results('{"path":"big","created":true}'), 'as large as allowed')
    refuses(t, await post('batch', filled(2 ** 20 + 1)), 413, 'body_too_large', 'one byte more')
  })
})

/** Puts each rejected operation in the middle of a batch that would change four topics. */
async function refused(
  t: Test,
  { post }: Server,
  batch: (...operations: readonly Operation[]) => Promise<Answer>,
): Promise<void> {
  const setUp = [
    { op: 'addAndSet', path: 'x/set', value: 'before' },
    { op: 'addAndSet', path: 'x/gone', value: 'before' },
    { op: 'addAndSet', path: 'x/text', type: 'string', value: 'before' },
    { op: 'addAndSet', path: 'x/props', value: 'before', properties: { a: '1' } },
  ]
  const refusals: readonly (readonly [status: number, code: string, operation: Operation, mention: string])[] = [
    [400, 'no_such_topic', { op: 'set', path: 'x/none', value: 1 }, '"x/none"'],
    [400, 'no_such_topic', { op: 'set', path: 'x/gone', value: 1 }, '"x/gone"'],
    [400, 'incompatible_type', { op: 'set', path: 'x/text', value: 1 }, 'of type string, not json'],
    [
      400,
      'incompatible_type',
      { op: 'addAndSet', path: 'x/set', type: 'string', value: '' },
      'of type json, not string',
    ],
    [
      400,
      'incompatible_properties',
      { op: 'addAndSet', path: 'x/props', value: 1, properties: { a: '2' } },
      '"x/props"',
    ],
    [409, 'unsatisfied_constraint', { op: 'set', path: 'x/set', value: 1, constraint: { value: 'before' } }, '"x/set"'],
    [409, 'unsatisfied_constraint', { op: 'add', path: 'x/new', constraint: { no_topic: true } }, '"x/new"'],
    [409, 'unsatisfied_constraint', { op: 'remove', path: 'x/none', constraint: { no_value: true } }, '"x/none"'],
  ]
  for (const [status, code, operation, mention] of refusals) {
    await post('remove', { selector: '*x//' })
    t.equal((await batch(...setUp)).status, 200)
    const before = await stateOf(post)
    const answer = await batch(
      { op: 'set', path: 'x/set', value: 'after' },
      { op: 'remove', path: 'x/gone' },
      { op: 'add', path: 'x/new' },
      operation,
      { op: 'addAndSet', path: 'x/never', value: 'after' },
      { op: 'set', path: 'x/nowhere', value: 'a later rejected operation' },
    )
    const expectation = `${code} of ${operation.op}`
    refusesOperation(t, answer, status, code, 3, expectation, mention)
    t.equal(await stateOf(post), before, `${expectation}: nothing has changed`)
  }
}

/** The topics below x, of both types. */
async function stateOf(post: Server['post']): Promise<string> {
  const pages = ['json', 'string'].map(async (type) => (await post('fetch', { selector: '*x//', type })).text)
  return (await Promise.all(pages)).join()
}
