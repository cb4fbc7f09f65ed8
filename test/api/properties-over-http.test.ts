/**
 * Topic properties over the routes: which are refused, which match an existing topic, and what they do.
 */
import t from 'tap'
import { propertiesMax } from '../../dist/settings/limits.js'
import { gives, refuses } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

await overStores(t, async (t, { post }) => {
  await t.test('an empty map, known names and any other names are accepted', async (t) => {
    for (const [i, properties] of [
      {},
      { VALIDATE_VALUES: 'true' },
      { VALIDATE_VALUES: 'false' },
      { DONT_RETAIN_VALUE: 'false' },
      { DONT_RETAIN_VALUE: 'true', VALIDATE_VALUES: 'true' },
      { colour: 'green', 'x y é 😀': '', '': 'nameless' },
      { validate_values: 'maybe' },
      { REMOVAL: 'when no updates for 10m' },
    ].entries()) {
      const expectation = JSON.stringify(properties)
      gives(
        t,
        await post('add', { path: `taken/add${i}`, properties }),
        `{"path":"taken/add${i}","created":true}`,
        `add ${expectation}`,
      )
      const answer = await post('addAndSet', { path: `taken/set${i}`, value: 1, properties })
      gives(t, answer, `{"path":"taken/set${i}","created":true}`, `addAndSet ${expectation}`)
    }
  })

  await t.test('names that JavaScript objects inherit are ordinary names', async (t) => {
    const properties = '{"__proto__":"x","constructor":"y","toString":"z"}'
    const body = `{"path":"proto","value":1,"properties":${properties}}`
    gives(t, await post('addAndSet', body), '{"path":"proto","created":true}', 'created')
    gives(t, await post('addAndSet', body), '{"path":"proto","created":false}', 'compatible with itself')
    const other = await post('addAndSet', body.replace('"x"', '"other"'))
    refuses(t, other, 400, 'incompatible_properties', 'another __proto__', '"proto"')
    const absent = await post('addAndSet', { path: 'proto', value: 1, properties: { valueOf: 'x' } })
    refuses(t, absent, 400, 'incompatible_properties', 'a name that every object inherits', '"proto"')
  })

  await t.test('a known property that is malformed is a 400 that names it, and nothing is created', async (t) => {
    for (const [name, value] of [
      ['VALIDATE_VALUES', 'yes'],
      ['VALIDATE_VALUES', 'TRUE'],
      ['VALIDATE_VALUES', ''],
      ['DONT_RETAIN_VALUE', '1'],
      ['DONT_RETAIN_VALUE', ' true'],
      ['REMOVAL', ''],
      ['REMOVAL', 'never'],
      ['REMOVAL', 'when subscriptions < 1'],
    ] as const) {
      const expectation = `${name} ${JSON.stringify(value)}`
      const properties = { [name]: value }
      refuses(
        t,
        await post('add', { path: 'no', properties }),
        400,
        'invalid_property',
        `add with ${expectation}`,
        `"${name}"`,
      )
      const answer = await post('addAndSet', { path: 'no', value: 1, properties })
      refuses(t, answer, 400, 'invalid_property', `addAndSet with ${expectation}`, `"${name}"`)
    }
    refuses(t, await post('fetch', { path: 'no' }), 400, 'no_such_topic', 'nothing was created')
  })

  await t.test('a topic has at most a hundred properties', async (t) => {
    const named = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`é${index}`, 'x']))
    const most = await post('add', { path: 'many', properties: named(propertiesMax) })
    gives(t, most, '{"path":"many","created":true}', 'as many as allowed')
    const said = `"é${propertiesMax}" is one of`
    for (const count of [propertiesMax + 1, 5000]) {
      const properties = named(count)
      const expectation = `${count} properties`
      refuses(t, await post('add', { path: 'no', properties }), 400, 'invalid_property', expectation, said)
      const set = await post('addAndSet', { path: 'many', value: 1, properties })
      refuses(t, set, 400, 'invalid_property', expectation, said)
      const batch = await post('batch', { operations: [{ op: 'add', path: 'no', properties }] })
      t.match([batch.code, batch.message], ['invalid_property', said], `${expectation} in a batch`)
    }
    refuses(t, await post('fetch', { path: 'no' }), 400, 'no_such_topic', 'nothing was created')
  })

  await t.test('addAndSet updates a topic whose properties have every value that it names', async (t) => {
    await post('add', { path: 'c', properties: { VALIDATE_VALUES: 'true', colour: 'green' } })
    const compatible = [
      undefined,
      {},
      { VALIDATE_VALUES: 'true' },
      { colour: 'green' },
      { colour: 'green', VALIDATE_VALUES: 'true' },
      { DONT_RETAIN_VALUE: 'false' },
      { DONT_RETAIN_VALUE: 'false', colour: 'green' },
    ]
    for (const [value, properties] of compatible.entries()) {
      const expectation = JSON.stringify(properties) ?? 'no properties'
      gives(t, await post('addAndSet', { path: 'c', value, properties }), '{"path":"c","created":false}', expectation)
      gives(
        t,
        await post('fetch', { path: 'c' }),
        `{"path":"c","type":"json","value":${value}}`,
        `set with ${expectation}`,
      )
    }
  })

  await t.test('addAndSet refuses a topic with other properties and changes nothing', async (t) => {
    await post('addAndSet', { path: 'c', value: 'kept' })
    for (const properties of [
      { VALIDATE_VALUES: 'false' },
      { colour: 'red' },
      { colour: 'Green' },
      { size: 'large' },
      { colour: 'green', size: 'large' },
      { DONT_RETAIN_VALUE: 'true' },
      { REMOVAL: 'when no updates for 10m' },
    ]) {
      const answer = await post('addAndSet', { path: 'c', value: 'lost', properties })
      refuses(t, answer, 400, 'incompatible_properties', JSON.stringify(properties), '"c"')
    }
    gives(t, await post('fetch', { path: 'c' }), '{"path":"c","type":"json","value":"kept"}', 'the value stays')
    await post('add', { path: 'plain' })
    const named = await post('addAndSet', { path: 'plain', value: 1, properties: { VALIDATE_VALUES: 'false' } })
    gives(t, named, '{"path":"plain","created":false}', 'an absent known property counts as "false"')
  })

  await t.test('where type and properties both differ, the refusal names the type', async (t) => {
    const answer = await post('addAndSet', { path: 'c', type: 'string', value: 'x', properties: { colour: 'red' } })
    refuses(t, answer, 400, 'incompatible_type', 'type and properties', '"c"')
  })

  await t.test('properties do not change after creation', async (t) => {
    await post('add', { path: 'c', properties: { colour: 'red' } })
    const answer = await post('addAndSet', { path: 'c', value: 1, properties: { colour: 'red' } })
    refuses(t, answer, 400, 'incompatible_properties', 'add with other properties changed nothing')
    await post('remove', { path: 'c' })
    const again = await post('addAndSet', { path: 'c', value: 1, properties: { colour: 'red' } })
    gives(t, again, '{"path":"c","created":true}', 'after a removal it is created with them')
  })

  await t.test('a topic with DONT_RETAIN_VALUE accepts and checks values, and keeps none', async (t) => {
    const properties = { DONT_RETAIN_VALUE: 'true' }
    gives(
      t,
      await post('addAndSet', { path: 'd', value: 1, properties }),
      '{"path":"d","created":true}',
      'addAndSet creates',
    )
    gives(t, await post('fetch', { path: 'd' }), '{"path":"d","type":"json"}', 'no value')
    gives(t, await post('set', { path: 'd', value: 2 }), '{"path":"d"}', 'set')
    gives(t, await post('addAndSet', { path: 'd', value: 3 }), '{"path":"d","created":false}', 'addAndSet updates')
    gives(t, await post('fetch', { path: 'd' }), '{"path":"d","type":"json"}', 'still no value')
    gives(
      t,
      await post('fetch', { selector: '>d' }),
      '{"has_more":false,"results":[{"path":"d","type":"json"}]}',
      'nor on a page',
    )
    await post('add', { path: 'ds', type: 'string', properties })
    const wrong = await post('set', { path: 'ds', type: 'string', value: 5 })
    refuses(t, wrong, 400, 'invalid_parameter', 'a value of the wrong kind', '"value"')
    gives(t, await post('set', { path: 'ds', type: 'string', value: 'x' }), '{"path":"ds"}', 'a string')
    gives(t, await post('fetch', { path: 'ds', type: 'string' }), '{"path":"ds","type":"string"}', 'no value either')
  })
})
