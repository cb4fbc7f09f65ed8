/**
 * The members of bodies: unknown ones, those given twice, of the wrong kind, sizes that only round to an integer, and values
 * nested deeper than common clients can read. Each fault has its code and a message that names the member; nothing is done.
 */
import t, { type Test } from 'tap'
import { valueLevelsMax } from '../../dist/settings/limits.js'
import { parseImportLine } from '../../dist/tools/import-line.js'
import { gives, refuses } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'
import type { Server } from '../support/service/server.js'

/** A body that each route accepts, without its end. */
const accepted = {
  fetch: '{"path":"a"',
  set: '{"path":"a","value":1',
  add: '{"path":"a"',
  addAndSet: '{"path":"a","value":1',
  remove: '{"path":"none"',
} as const
const routes = Object.keys(accepted) as (keyof typeof accepted)[]

/** Names that are no parameter of any route. */
const unknownNames = ['pth', 'Path', 'paht', 'Type', 'x y', '', 'é', '__proto__', 'constructor', 'a.b', 'a"b', 'a[0]']

const allowedNames: Readonly<Record<string, string>> = {
  fetch:
    '"after", "count", "deep_branch_depth", "deep_branch_limit", "path", "paths", "selector", "size", "type", "with_properties", "with_values", "with_version"',
  set: '"constraint", "increment", "path", "type", "value"',
  addAndSet: '"constraint", "path", "properties", "type", "value"',
  add: '"constraint", "path", "properties", "type"',
  remove: '"constraint", "dry_run", "path", "selector"',
}

/** Properties with a name given twice, and the name. */
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

/** Asserts that a route refuses a body with a 400. */
type Rejects = (t: Test, route: string, body: string, code: string, ...mentions: readonly string[]) => Promise<void>

await overStores(
  t,
  async (t, server) => {
    const rejects: Rejects = async (t, route, body, code, ...mentions) =>
      refuses(t, await server.post(route, body), 400, code, `${route} ${body.slice(0, 80)}`, ...mentions)
    await t.test('an unknown parameter is refused by name, with a list of the known ones', (t) => unknown(t, rejects))
    await t.test('a parameter given twice is refused by name', (t) => twice(t, server, rejects))
    await t.test('a property given twice is refused by name, however it is escaped', (t) =>
      propertyTwice(t, server, rejects),
    )
    await t.test('a parameter of the wrong kind is refused by name, with what is allowed', (t) => kinds(t, rejects))
    await t.test('a size is checked by its text, not by the number that it rounds to', (t) => sizes(t, server, rejects))
    await t.test(`a value of ${valueLevelsMax} levels is accepted, one more is refused by name`, (t) =>
      levels(t, server, rejects),
    )
    await t.test('values nested too deep are refused anywhere in a body', (t) => deep(t, rejects))
  },
  { store: 'lmdb' },
)

async function unknown(t: Test, rejects: Rejects): Promise<void> {
  for (const route of routes) {
    for (const name of unknownNames)
      await rejects(
        t,
        route,
        `${accepted[route]},${JSON.stringify(name)}:1}`,
        'unknown_parameter',
        JSON.stringify(name),
      )
    for (const name of Object.keys(JSON.parse(`${accepted[route]}}`) as object)) {
      const misspelt = `${accepted[route].replace(`"${name}"`, `"${name}x"`)}}`
      await rejects(t, route, misspelt, 'unknown_parameter', `"${name}x"`, `allowed are ${allowedNames[route]}.`)
    }
  }
  await rejects(t, 'add', '{"path":"a","a \\"b\\".c":1}', 'unknown_parameter', 'Parameter "a \\"b\\".c" is')
}

async function twice(t: Test, { post }: Server, rejects: Rejects): Promise<void> {
  await post('addAndSet', { path: 'a', value: 1 })
  for (const route of routes) {
    const value = route.toLowerCase().endsWith('set') ? ',"value":1' : ''
    for (const members of ['"path":"a","path":"a"', '"path":"a","p\\u0061th":"b"', '"path":"a","path":null'])
      await rejects(t, route, `{${members}${value}}`, 'duplicate_parameter', '"path"')
    await rejects(t, route, `{"type":1,"type":2${value}}`, 'duplicate_parameter')
    await rejects(t, route, `${accepted[route]},"__proto__":1,"__proto__":1}`, 'duplicate_parameter', '"__proto__"')
  }
  for (const body of ['{"value":1,"path":"a","value":2}', '{"path":"a","value":1,"v\\u0061lue":2}'])
    await rejects(t, 'set', body, 'duplicate_parameter', '"value"')
  await rejects(t, 'set', '{"path":"a","value":1,"":1,"":1}', 'duplicate_parameter', 'Parameter ""')
  gives(t, await post('fetch', { path: 'a' }), '{"path":"a","type":"json","value":1}', 'nothing was set')
}

async function propertyTwice(t: Test, { post }: Server, rejects: Rejects): Promise<void> {
  for (const route of ['add', 'addAndSet']) {
    const value = route === 'add' ? '' : '"value":1,'
    for (const [properties, name] of propertiesTwice) {
      for (const member of ['"properties"', '"p\\u0072operties"']) {
        const body = `{"path":"twice",${value}${member}:${properties}}`
        await rejects(t, route, body, 'invalid_property', `Property "${name}" is given more than once`)
      }
    }
    const odd = `{"path":"${route}",${value}"properties":{"a":"{\\"a\\":1,\\"a\\":2}","b":"","__proto__":"","constructor":""}}`
    gives(t, await post(route, odd), `{"path":"${route}","created":true}`, 'names inside values are not counted')
    const repeated = `{"path":"a","type":"json","properties":{"a":{"x":1,"x":2}},${value}"type":"json"}`
    // The body is checked first.
    await rejects(t, route, repeated, 'duplicate_parameter', '"type"')
    const inside = `{"path":"a",${value}"properties":{"a":{"x":1,"x":2}}}`
    await rejects(t, route, inside, 'invalid_parameter', 'properties', 'a string')
    await rejects(t, route, `{"path":"a",${value}"properties":[1,1]}`, 'invalid_parameter', 'properties')
  }
  refuses(t, await post('fetch', { path: 'twice' }), 400, 'no_such_topic', 'nothing was created')
}

async function kinds(t: Test, rejects: Rejects): Promise<void> {
  for (const found of ['5', 'null', 'true', '[]', '{}', '["a"]']) {
    for (const route of routes)
      await rejects(
        t,
        route,
        accepted[route].replace(/:"\w+"/, `:${found}`).concat('}'),
        'invalid_parameter',
        '"path"',
        'string',
      )
    for (const route of ['fetch', 'remove'])
      await rejects(t, route, `{"selector":${found}}`, 'invalid_parameter', '"selector"', 'string')
    await rejects(t, 'fetch', `{"selector":"a","after":${found}}`, 'invalid_parameter', '"after"', 'string')
  }
  for (const found of ['"JSON"', '"String"', '""', '"int64"', '5', 'null', '["json"]']) {
    for (const route of routes.filter((route) => route !== 'remove'))
      await rejects(
        t,
        route,
        `${accepted[route]},"type":${found}}`,
        'invalid_parameter',
        '"type"',
        '"json"',
        '"string"',
      )
  }
  for (const found of ['5', 'null', '"x"', 'true', '[]', '["a"]'])
    await rejects(t, 'add', `{"path":"a","properties":${found}}`, 'invalid_parameter', '"properties"', 'object')
  for (const found of ['5', 'null', 'true', '[]', '{}']) {
    const body = `${accepted.addAndSet},"properties":{"colour":${found}}}`
    await rejects(t, 'addAndSet', body, 'invalid_parameter', 'properties', 'colour', 'string')
  }
}

async function sizes(t: Test, { post }: Server, rejects: Rejects): Promise<void> {
  const page = '{"has_more":false,"results":[{"path":"a","type":"json","value":1}]}'
  for (const size of rightSizes) {
    for (const body of [`{"selector":">a","size":${size}}`, `{"selector":">a", "s\\u0069ze" : ${size} }`])
      gives(t, await post('fetch', body), page, body.slice(0, 40))
  }
  for (const size of wrongSizes) {
    const found = `is the number ${size.length > 40 ? `${size.slice(0, 40)}…` : size}; an integer from 1 to 1000`
    for (const [member, name] of [
      ['"selector":">a"', 'size'],
      ['"path":"a"', 'size'],
      ['"selector":">a"', 's\\u0069ze'],
    ])
      await rejects(t, 'fetch', `{${member},"${name}":${size}}`, 'invalid_parameter', '"size"', found)
  }
  for (const size of ['"5"', 'null', 'true', '[]'])
    await rejects(
      t,
      'fetch',
      `{"selector":">a","size":${size}}`,
      'invalid_parameter',
      '"size"',
      'integer from 1 to 1000',
    )
}

async function levels(t: Test, { post }: Server, rejects: Rejects): Promise<void> {
  await post('add', { path: 'deep' })
  for (const make of [arrays, objects, both]) {
    const value = make(valueLevelsMax)
    const item = `{"path":"deep","type":"json","value":${value}}`
    gives(t, await post('set', `{"path":"deep","value":${value}}`), '{"path":"deep"}', make.name)
    gives(t, await post('fetch', { path: 'deep' }), item, `${make.name} come back`)
    const beyond = make === both ? `[${value}]` : make(valueLevelsMax + 1)
    for (const body of [`{"path":"deep","value":${beyond}}`, `{"value":[1,{"a":${beyond}}],"path":"deep"}`])
      await rejects(t, 'set', body, 'invalid_parameter', '"value"', `nested more than ${valueLevelsMax} levels deep`)
    gives(t, await post('fetch', { path: 'deep' }), item, `${make.name} are unchanged`)
  }
  const wide = `{"path":"deep","value":[${'[],{},'.repeat(2000)}[]]}`
  gives(t, await post('set', wide), '{"path":"deep"}', 'a wide value is not deep')
  gives(t, await post('set', `{"path":"deep","value":"${'['.repeat(5000)}"}`), '{"path":"deep"}', 'nor is a string')
}

async function deep(t: Test, rejects: Rejects): Promise<void> {
  const beyond = arrays(valueLevelsMax + 1)
  const room = 2 ** 20 - 30
  for (const [route, body, code, ...mentions] of [
    ['add', `{"path":"a","properties":{"a":${beyond}}}`, 'invalid_parameter', '"properties"', 'levels'],
    ['add', `{"path":${beyond}}`, 'invalid_parameter', '"path"', 'levels'],
    ['add', `{"path":"a","zz\\u007a":${beyond}}`, 'invalid_parameter', '"zzz"', 'levels'],
    ['add', beyond, 'invalid_body', 'an array'],
    ['set', '['.repeat(100_000), 'invalid_body', 'an array'],
    ['set', '['.repeat(2 ** 20 - 1), 'invalid_body', 'an array'],
    ['set', `{"path":"a","value":${'['.repeat(room)}`, 'invalid_parameter', '"value"', 'levels'],
    ['set', `{"path":"a","value":${'{"a":'.repeat(room / 5)}`, 'invalid_parameter', '"value"', 'levels'],
    ['set', `{"path":"a","value":${arrays(room / 2)}}`, 'invalid_parameter', '"value"', 'levels'],
    // Invalid before it is too deep, and as deep as allowed, but open.
    ['set', `{"path":"a","value":[1,,${'['.repeat(5000)}`, 'invalid_json', 'byte 24'],
    ['set', `{"path":"a","value":${'['.repeat(valueLevelsMax)}`, 'invalid_json', 'the end'],
  ] as const)
    await rejects(t, route, body, code, ...mentions)
}

t.test('a line of an import is refused for the same faults', (t) => {
  const lines: readonly (readonly [line: string, problem: RegExp])[] = [
    ['{"path":"a","properties":{"a":"1","\\u0061":"1"}}', /Property "a" is given more than once/],
    [`{"path":"a","value":${arrays(1001)}}`, /Parameter "value" is nested more than 1000 levels/],
    ['{"path":"a","path":"b"}', /Parameter "path" is given more than once/],
    ['{"path":"a","valu":1}', /"valu" is not known here; allowed are "path", "properties", "type", "value"/],
    ['{"path":"a",}', /It is not valid JSON: found "}" at byte 13, expected a member name in double quotes\./],
  ]
  for (const [line, problem] of lines) t.throws(() => parseImportLine(Buffer.from(line)), problem, line.slice(0, 60))
  t.end()
})
