/**
 * Bodies that JSON.parse accepts and the service refuses: sizes that only round to an integer, names given twice,
 * values nested deeper than common clients can read. The refusal of an unknown name lists the known ones.
 */
import t from 'tap'
import { valueLevelsMax } from '../../dist/settings/limits.js'
import { gives, refuses } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'
import { runCommand, startServer } from '../support/service/server.js'

await overStores(t, async (t, { post }) => {
  await t.test('the refusal of an unknown parameter lists the names that the route accepts', async (t) => {
    const names: readonly (readonly [route: string, allowed: string])[] = [
      [
        'fetch',
        '"after", "count", "deep_branch_depth", "deep_branch_limit", "path", "paths", "selector", "size", "type", "with_properties", "with_values", "with_version"',
      ],
      ['set', '"constraint", "increment", "path", "type", "value"'],
      ['addAndSet', '"constraint", "path", "properties", "type", "value"'],
      ['add', '"constraint", "path", "properties", "type"'],
      ['remove', '"constraint", "dry_run", "path", "selector"'],
    ]
    for (const [route, allowed] of names) {
      const answer = await post(route, { path: 'a', value: 1, aftr: 'a' })
      refuses(t, answer, 400, 'unknown_parameter', route, `allowed are ${allowed}.`)
    }
    refuses(
      t,
      await post('add', '{"path":"a","a \\"b\\".c":1}'),
      400,
      'unknown_parameter',
      'an odd name',
      'Parameter "a \\"b\\".c" is',
    )
    refuses(
      t,
      await post('add', '{"path":"a","__proto__":1}'),
      400,
      'unknown_parameter',
      '__proto__',
      'Parameter "__proto__" is',
    )
  })

  await t.test('a size is checked by its text, not by the number that it rounds to', async (t) => {
    await post('add', { path: 'a' })
    const page = '{"has_more":false,"results":[{"path":"a","type":"json"}]}'
    for (const size of [
      '1',
      '10',
      '1000',
      '10.0',
      '10.000',
      '1e1',
      '1E+1',
      '0.1e2',
      '10e-1',
      '100.0e-1',
      `10.${'0'.repeat(1000)}`,
    ]) {
      gives(t, await post('fetch', `{"selector":">a","size":${size}}`), page, size.slice(0, 20))
      gives(
        t,
        await post('fetch', `{"selector":">a", "s\\u0069ze" : ${size} }`),
        page,
        `${size.slice(0, 20)}, its name escaped`,
      )
    }
    const wrong = [
      '1.0000000000000000001',
      '0.99999999999999999999',
      '10.5',
      '0',
      '-0',
      '0.0',
      '-1',
      '1001',
      '1000.00000000000000001',
      '1e4',
      '1E400',
      '1e-400',
      '12345678901234567890',
      '15e-1',
      '1.05e1',
      `1.${'0'.repeat(10_000)}1`,
    ]
    for (const size of wrong) {
      for (const body of [
        `{"selector":">a","size":${size}}`,
        `{"path":"a","size":${size}}`,
        `{"selector":">a","s\\u0069ze":${size}}`,
      ]) {
        const found = size.length > 40 ? `${size.slice(0, 40)}…` : size
        const mention = `is the number ${found}; an integer from 1 to 1000`
        refuses(t, await post('fetch', body), 400, 'invalid_parameter', size.slice(0, 30), '"size"', mention)
      }
    }
  })

  await t.test('a parameter given twice is refused by name', async (t) => {
    refuses(t, await post('fetch', '{"path":"a","path":"a"}'), 400, 'duplicate_parameter', 'path', '"path"')
    refuses(
      t,
      await post('fetch', '{"path":"a","type":"json","p\\u0061th":"b"}'),
      400,
      'duplicate_parameter',
      'escaped',
      '"path"',
    )
    refuses(t, await post('set', '{"value":1,"path":"a","value":1}'), 400, 'duplicate_parameter', 'value', '"value"')
    refuses(
      t,
      await post('fetch', '{"path":"a","__proto__":1,"__proto__":1}'),
      400,
      'duplicate_parameter',
      '__proto__',
      '"__proto__"',
    )
    refuses(
      t,
      await post('set', '{"path":"a","value":1,"":1,"":1}'),
      400,
      'duplicate_parameter',
      'no name',
      'Parameter ""',
    )
  })

  await t.test('a property given twice is refused by name, however it is escaped', async (t) => {
    const twice: readonly (readonly [properties: string, name: string])[] = [
      ['{"a":"1","a":"1"}', 'a'],
      ['{"a":"1","b":"2","\\u0061":"1"}', 'a'],
      ['{"VALIDATE_VALUES":"true","VALIDATE\\u005fVALUES":"false"}', 'VALIDATE_VALUES'],
      ['{"__proto__":"1","__proto__":"2"}', '__proto__'],
      ['{"__proto__":"1","\\u005f_proto__":"2"}', '__proto__'],
      ['{"":"1","":"2"}', ''],
      ['{ "é" : "}\\"{" , "\\u00e9" : "," }', 'é'],
    ]
    for (const route of ['add', 'addAndSet']) {
      const value = route === 'add' ? '' : '"value":1,'
      for (const [properties, name] of twice) {
        for (const body of [
          `{"path":"twice",${value}"properties":${properties}}`,
          `{"path":"twice",${value}"p\\u0072operties":${properties}}`,
        ]) {
          refuses(
            t,
            await post(route, body),
            400,
            'invalid_property',
            `${route} ${body}`,
            `Property "${name}" is given more than once`,
          )
        }
      }
      const odd = `{"path":"${route}",${value}"properties":{"a":"{\\"a\\":1,\\"a\\":2}","b":"","__proto__":"","constructor":""}}`
      gives(t, await post(route, odd), `{"path":"${route}","created":true}`, 'names inside values are not counted')
      const repeated = `{"path":"a","type":"json","properties":{"a":{"x":1,"x":2}},${value}"type":"json"}`
      refuses(t, await post(route, repeated), 400, 'duplicate_parameter', 'the body is checked first', '"type"')
      const nested = `{"path":"a",${value}"properties":{"a":{"x":1,"x":2}}}`
      refuses(
        t,
        await post(route, nested),
        400,
        'invalid_parameter',
        'a property that is an object',
        'properties',
        'a string',
      )
      refuses(
        t,
        await post(route, `{"path":"a",${value}"properties":[1,1]}`),
        400,
        'invalid_parameter',
        'an array',
        'properties',
      )
    }
    refuses(t, await post('fetch', { path: 'twice' }), 400, 'no_such_topic', 'nothing was created')
  })

  await t.test(`a value of ${valueLevelsMax} levels is accepted, one more is refused by name`, async (t) => {
    const arrays = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    const objects = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
    const both = (levels: number) =>
      `${'[{"]}":'.repeat(levels / 2)}"[["${'}]'.repeat(levels / 2)}${levels % 2 ? ']' : ''}`
    await post('add', { path: 'deep' })
    for (const [name, make] of [
      ['arrays', arrays],
      ['objects', objects],
      ['both', both],
    ] as const) {
      const value = make(valueLevelsMax)
      gives(t, await post('set', `{"path":"deep","value":${value}}`), '{"path":"deep"}', name)
      gives(
        t,
        await post('fetch', { path: 'deep' }),
        `{"path":"deep","type":"json","value":${value}}`,
        `${name} come back`,
      )
      const beyond = name === 'both' ? `[${value}]` : make(valueLevelsMax + 1)
      for (const body of [`{"path":"deep","value":${beyond}}`, `{"value":[1,{"a":${beyond}}],"path":"deep"}`]) {
        const answer = await post('set', body)
        refuses(
          t,
          answer,
          400,
          'invalid_parameter',
          `${name}, one level more`,
          '"value"',
          `nested more than ${valueLevelsMax} levels deep`,
        )
      }
      gives(
        t,
        await post('fetch', { path: 'deep' }),
        `{"path":"deep","type":"json","value":${value}}`,
        `${name} are unchanged`,
      )
    }
    gives(
      t,
      await post('set', `{"path":"deep","value":[${'[],{},'.repeat(2000)}[]]}`),
      '{"path":"deep"}',
      'a wide value is not deep',
    )
    gives(t, await post('set', `{"path":"deep","value":"${'['.repeat(5000)}"}`), '{"path":"deep"}', 'nor is a string')
  })

  await t.test('values nested too deep are refused anywhere in a body, even in one full of brackets', async (t) => {
    const deep = '['.repeat(1001) + ']'.repeat(1001)
    refuses(
      t,
      await post('add', `{"path":"a","properties":{"a":${deep}}}`),
      400,
      'invalid_parameter',
      'properties',
      '"properties"',
      'levels',
    )
    refuses(t, await post('add', `{"path":${deep}}`), 400, 'invalid_parameter', 'path', '"path"', 'levels')
    refuses(
      t,
      await post('add', `{"path":"a","zz\\u007a":${deep}}`),
      400,
      'invalid_parameter',
      'an unknown name',
      '"zzz"',
      'levels',
    )
    refuses(t, await post('add', deep), 400, 'invalid_body', 'the whole body', 'an array')
    for (const levels of [100_000, 2 ** 20 - 1]) {
      refuses(t, await post('set', '['.repeat(levels)), 400, 'invalid_body', `${levels} brackets`, 'an array')
    }
    const room = 2 ** 20 - 30
    refuses(
      t,
      await post('set', `{"path":"a","value":${'['.repeat(room)}`),
      400,
      'invalid_parameter',
      'arrays, open',
      '"value"',
      'levels',
    )
    refuses(
      t,
      await post('set', `{"path":"a","value":${'{"a":'.repeat(room / 5)}`),
      400,
      'invalid_parameter',
      'objects, open',
      '"value"',
      'levels',
    )
    const closed = '['.repeat(room / 2) + ']'.repeat(room / 2)
    refuses(
      t,
      await post('set', `{"path":"a","value":${closed}}`),
      400,
      'invalid_parameter',
      'arrays, closed',
      '"value"',
      'levels',
    )
    const wrong = `{"path":"a","value":[1,,${'['.repeat(5000)}`
    refuses(t, await post('set', wrong), 400, 'invalid_json', 'invalid before it is too deep', 'byte 24')
    refuses(
      t,
      await post('set', `{"path":"a","value":${'['.repeat(1000)}`),
      400,
      'invalid_json',
      'as deep as allowed, open',
      'the end',
    )
  })
})

await t.test('an import refuses lines with the same faults', async (t) => {
  const server = await startServer(t)
  const lines: readonly (readonly [line: string, problem: RegExp])[] = [
    ['{"path":"a","properties":{"a":"1","\\u0061":"1"}}', /line 1: Property "a" is given more than once/],
    [
      '{"path":"a","properties":{"__proto__":"1","__proto__":"1"}}',
      /line 1: Property "__proto__" is given more than once/,
    ],
    [
      `{"path":"a","value":${'['.repeat(1001)}${']'.repeat(1001)}}`,
      /line 1: Parameter "value" is nested more than 1000 levels/,
    ],
    ['{"path":"a","path":"b"}', /line 1: Parameter "path" is given more than once/],
    [
      '{"path":"a","valu":1}',
      /line 1: Parameter "valu" is not known here; allowed are "path", "properties", "type", "value"/,
    ],
    ['{"path":"a",}', /line 1: It is not valid JSON: found "}" at byte 13, expected a member name in double quotes\./],
  ]
  for (const [line, problem] of lines) {
    const { code, stderr } = await runCommand(
      ['import', '--allow-unfinished', '--data', server.dataDir],
      {},
      `${line}\n`,
    )
    t.not(code, 0, line.slice(0, 60))
    t.match(stderr, problem)
  }
})
