/**
 * The members of bodies: unknown or duplicate members, wrong types, sizes that only round to an integer, and values nested
 * deeper than common clients can read. Each fault has its code and a message that names the member; nothing is changed.
 */
import t from 'tap'
import { valueLevelsMax } from '../../dist/settings/limits.js'
import { parseImportLine } from '../../dist/tools/import-line.js'
import { answers, type Row } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

/** A body accepted by each route, without its closing brace. */
const accepted = {
  fetch: '{"path":"a"',
  set: '{"path":"a","value":1',
  add: '{"path":"a"',
  addAndSet: '{"path":"a","value":1',
  remove: '{"path":"none"',
} as const
const routes = Object.keys(accepted) as (keyof typeof accepted)[]

/** Names that are not parameters of any route. */
const unknownNames = ['pth', 'Path', 'paht', 'Type', 'x y', '', 'é', '__proto__', 'constructor', 'a.b', 'a"b', 'a[0]']

const allowedNames: Readonly<Record<string, string>> = {
  fetch:
    '"after", "count", "deep_branch_depth", "deep_branch_limit", "path", "paths", "selector", "size", "type", "with_properties", "with_values", "with_version"',
  set: '"constraint", "increment", "path", "type", "value", "with_version"',
  addAndSet: '"constraint", "path", "properties", "ttl", "type", "value", "with_version"',
  add: '"constraint", "path", "properties", "ttl", "type", "with_version"',
  remove: '"constraint", "dry_run", "path", "selector", "with_version"',
}

/** Properties with a duplicate name, and that name. */
const propertiesTwice = [
  ['{"a":"1","a":"1"}', 'a'],
  ['{"a":"1","b":"2","\\u0061":"1"}', 'a'],
  ['{"VALIDATE_VALUES":"true","VALIDATE\\u005fVALUES":"false"}', 'VALIDATE_VALUES'],
  ['{"__proto__":"1","__proto__":"2"}', '__proto__'],
  ['{"__proto__":"1","\\u005f_proto__":"2"}', '__proto__'],
  ['{"":"1","":"2"}', ''],
  ['{ "é" : "}\\"{" , "\\u00e9" : "," }', 'é'],
] as const

const rightSizes = '1 10 1000 1e3 10.0 10.000 1e1 1E+1 0.1e2 10e-1 100.0e-1'.split(' ').concat(`10.${'0'.repeat(1000)}`)
const wrongSizes =
  '1.0000000000000000001 0.99999999999999999999 10.5 0 -0 0.0 -1 1001 1000.00000000000000001 1e4 1e9 1E400 1e-400 4294967297 12345678901234567890 18446744073709551617 15e-1 1.05e1'
    .split(' ')
    .concat(`1.${'0'.repeat(10_000)}1`)

const arrays = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const objects = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
const both = (levels: number) => `${'[{"]}":'.repeat(levels / 2)}"[["${'}]'.repeat(levels / 2)}${levels % 2 ? ']' : ''}`

/** The rows for each of the given routes. */
const onRoutes = (some: readonly (keyof typeof accepted)[], rows: (route: keyof typeof accepted) => readonly Row[]) =>
  some.flatMap(rows)

await overStores(
  t,
  async (t, { post }) => {
    const inTurn = (name: string, rows: readonly Row[]) => t.test(name, (t) => answers(t, post, rows))

    await inTurn('the error for an unknown parameter names it and lists the known ones', [
      ...onRoutes(routes, (route) => [
        ...unknownNames.map((name): Row => {
          return [route, `${accepted[route]},${JSON.stringify(name)}:1}`, 'unknown_parameter', JSON.stringify(name)]
        }),
        ...Object.keys(JSON.parse(`${accepted[route]}}`) as object).map((name): Row => {
          const misspelt = `${accepted[route].replace(`"${name}"`, `"${name}x"`)}}`
          return [route, misspelt, 'unknown_parameter', `"${name}x"`, `allowed parameters: ${allowedNames[route]}.`]
        }),
      ]),
      ['add', '{"path":"a","a \\"b\\".c":1}', 'unknown_parameter', 'Unknown parameter "a \\"b\\".c"'],
    ])

    await post('addAndSet', { path: 'a', value: 1 })
    await inTurn('the error for a duplicate parameter names it', [
      ...onRoutes(routes, (route) => {
        const value = route.toLowerCase().endsWith('set') ? ',"value":1' : ''
        const paths = ['"path":"a","path":"a"', '"path":"a","p\\u0061th":"b"', '"path":"a","path":null']
        return [
          ...paths.map((members): Row => [route, `{${members}${value}}`, 'duplicate_parameter', '"path"']),
          [route, `{"type":1,"type":2${value}}`, 'duplicate_parameter'],
          [route, `${accepted[route]},"__proto__":1,"__proto__":1}`, 'duplicate_parameter', '"__proto__"'],
        ]
      }),
      ['set', '{"value":1,"path":"a","value":2}', 'duplicate_parameter', '"value"'],
      ['set', '{"path":"a","value":1,"v\\u0061lue":2}', 'duplicate_parameter', '"value"'],
      ['set', '{"path":"a","value":1,"":1,"":1}', 'duplicate_parameter', 'Parameter ""'],
      ['fetch', { path: 'a' }, '{"path":"a","type":"json","value":1}'],
    ])

    await inTurn('the error for a duplicate property names it, even if the name is escaped', [
      ...onRoutes(['add', 'addAndSet'], (route) => {
        const value = route === 'add' ? '' : '"value":1,'
        const odd = '{"a":"{\\"a\\":1,\\"a\\":2}","b":"","__proto__":"","constructor":""}'
        const repeated = `{"path":"a","type":"json","properties":{"a":{"x":1,"x":2}},${value}"type":"json"}`
        return [
          ...propertiesTwice.flatMap(([properties, name]) =>
            ['"properties"', '"p\\u0072operties"'].map((member): Row => {
              const body = `{"path":"twice",${value}${member}:${properties}}`
              return [route, body, 'invalid_property', `Property "${name}" appears more than once`]
            }),
          ),
          // Names inside values do not count.
          [route, `{"path":"${route}",${value}"properties":${odd}}`, `{"path":"${route}","created":true}`],
          // The body is checked first.
          [route, repeated, 'duplicate_parameter', '"type"'],
          [route, `{"path":"a",${value}"properties":{"a":{"x":1}}}`, 'invalid_parameter', 'properties', 'a string'],
          [route, `{"path":"a",${value}"properties":[1,1]}`, 'invalid_parameter', 'properties'],
        ]
      }),
      ['fetch', { path: 'twice' }, 'no_such_topic'],
    ])

    const typed = ['fetch', 'set', 'add', 'addAndSet'] as const
    await inTurn('the error for a parameter of the wrong type names it and the allowed values', [
      ...['5', 'null', 'true', '[]', '{}', '["a"]'].flatMap((found): Row[] => [
        ...onRoutes(routes, (route): Row[] => {
          const body = `${accepted[route].replace(/:"\w+"/, `:${found}`)}}`
          return [[route, body, 'invalid_parameter', '"path"', 'string']]
        }),
        ['fetch', `{"selector":${found}}`, 'invalid_parameter', '"selector"', 'string'],
        ['remove', `{"selector":${found}}`, 'invalid_parameter', '"selector"', 'string'],
        ['fetch', `{"selector":"a","after":${found}}`, 'invalid_parameter', '"after"', 'string'],
      ]),
      ...['"JSON"', '""', '"int64"', '5', 'null', '["json"]'].flatMap((found) =>
        onRoutes(typed, (route) => [
          [route, `${accepted[route]},"type":${found}}`, 'invalid_parameter', '"type"', '"json"', '"string"'],
        ]),
      ),
      ...['5', 'null', '"x"', '[]', '["a"]'].map((found): Row => {
        return ['add', `{"path":"a","properties":${found}}`, 'invalid_parameter', '"properties"', 'object']
      }),
      ...['5', 'null', '[]', '{}'].map((found): Row => {
        const body = `${accepted.addAndSet},"properties":{"colour":${found}}}`
        return ['addAndSet', body, 'invalid_parameter', 'properties', 'colour', 'string']
      }),
    ])

    const page = '{"has_more":false,"results":[{"path":"a","type":"json","value":1}]}'
    await inTurn('a size is validated as written, not as the number it rounds to', [
      ...rightSizes.flatMap((size): Row[] => [
        ['fetch', `{"selector":">a","size":${size}}`, page],
        ['fetch', `{"selector":">a", "s\\u0069ze" : ${size} }`, page],
      ]),
      ...wrongSizes.flatMap((size): Row[] => {
        const found = `an integer from 1 to 1000, not the number ${size.length > 40 ? `${size.slice(0, 40)}…` : size}`
        return ['"selector":">a","size"', '"path":"a","size"', '"selector":">a","s\\u0069ze"'].map((members) => {
          return ['fetch', `{${members}:${size}}`, 'invalid_parameter', '"size"', found]
        })
      }),
      ...['"5"', 'null', 'true', '[]'].map((size): Row => {
        return ['fetch', `{"selector":">a","size":${size}}`, 'invalid_parameter', '"size"', 'integer from 1 to 1000']
      }),
    ])

    await post('add', { path: 'deep' })
    const wide = `[${'[],{},'.repeat(2000)}[]]`
    await inTurn(`a value of ${valueLevelsMax} levels is accepted, and the error for a deeper one names it`, [
      ...[arrays, objects, both].flatMap((make): Row[] => {
        const value = make(valueLevelsMax)
        const beyond = make === both ? `[${value}]` : make(valueLevelsMax + 1)
        const refusal = ['invalid_parameter', '"value"', `nested more than ${valueLevelsMax} levels deep`] as const
        return [
          ['set', `{"path":"deep","value":${value}}`, '{"path":"deep"}'],
          ['set', `{"path":"deep","value":${beyond}}`, ...refusal],
          ['set', `{"value":[1,{"a":${beyond}}],"path":"deep"}`, ...refusal],
          ['fetch', { path: 'deep' }, `{"path":"deep","type":"json","value":${value}}`],
        ]
      }),
      ['set', `{"path":"deep","value":${wide}}`, '{"path":"deep"}'],
      ['set', `{"path":"deep","value":"${'['.repeat(5000)}"}`, '{"path":"deep"}'],
    ])

    const beyond = arrays(valueLevelsMax + 1)
    const room = 2 ** 20 - 30
    await inTurn('values nested too deeply are rejected anywhere in a body', [
      ['add', `{"path":"a","properties":{"a":${beyond}}}`, 'invalid_parameter', '"properties"', 'levels'],
      ['add', `{"path":${beyond}}`, 'invalid_parameter', '"path"', 'levels'],
      ['add', `{"path":"a","zz\\u007a":${beyond}}`, 'invalid_parameter', '"zzz"', 'levels'],
      ['add', beyond, 'invalid_body', 'an array'],
      ['set', '['.repeat(2 ** 20 - 1), 'invalid_body', 'an array'],
      ['set', `{"path":"a","value":${'['.repeat(room)}`, 'invalid_parameter', '"value"', 'levels'],
      ['set', `{"path":"a","value":${'{"a":'.repeat(room / 5)}`, 'invalid_parameter', '"value"', 'levels'],
      // The first is invalid before it is too deep; the second has the maximum depth but is never closed.
      ['set', `{"path":"a","value":[1,,${'['.repeat(5000)}`, 'invalid_json', 'byte 24'],
      ['set', `{"path":"a","value":${'['.repeat(valueLevelsMax)}`, 'invalid_json', 'the end'],
    ])
  },
  { store: 'lmdb' },
)

t.test('a line of an import is rejected for the same faults as a body', (t) => {
  const lines: readonly (readonly [line: string, problem: RegExp])[] = [
    ['{"path":"a","properties":{"a":"1","\\u0061":"1"}}', /Property "a" appears more than once/],
    [`{"path":"a","value":${arrays(1001)}}`, /Parameter "value" must not be nested more than 1000 levels/],
    ['{"path":"a","path":"b"}', /Parameter "path" appears more than once/],
    ['{"path":"a","valu":1}', /Unknown parameter "valu"; allowed parameters: "path", "properties", "type", "value"/],
    ['{"path":"a",}', /It is not valid JSON: found "}" at byte 13, expected a member name in double quotes\./],
  ]
  for (const [line, problem] of lines) t.throws(() => parseImportLine(Buffer.from(line)), problem, line.slice(0, 60))
  t.end()
})
