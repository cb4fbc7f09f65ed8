/**
 * Repeated, surplus or too deeply nested members are found regardless of how they are written, and invalid JSON is reported
 * before them.
 */
import t from 'tap'
import { parseRemove, parseWrite } from '../../dist/api/bodies/parse.js'
import { parseBatch } from '../../dist/api/bodies/parse-batch.js'
import { parseFetch } from '../../dist/api/bodies/parse-fetch.js'
import { propertiesMax, valueLevelsMax } from '../../dist/settings/limits.js'
import { seededRandom } from '../support/random.js'

const parsers: Readonly<Record<string, (bytes: Buffer) => unknown>> = {
  set: (bytes) => parseWrite('set', bytes),
  add: (bytes) => parseWrite('add', bytes),
  addAndSet: (bytes) => parseWrite('addAndSet', bytes),
  remove: parseRemove,
  fetch: (bytes) => parseFetch(bytes, 1000),
  batch: (bytes) => parseBatch(bytes, 10),
}

const parse = (route: string, body: string | Buffer): unknown => parsers[route]?.(Buffer.from(body as string))
const arrays = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
const refusal = (code: string, message: RegExp) => ({ code, status: 400, message })

t.test('the first repeated name is reported, even if it is escaped', (t) => {
  const repeated = [
    ['"\\u0061":1,"a":2', 'a'],
    ['"é":1,"\\u00e9":2', 'é'],
    ['"a":1,"b":2,"b":3,"a":4', 'b'],
    ['"\\"":1,"\\u0022":2', '"'],
    ['"__proto__":1,"__proto__":2', '__proto__'],
    ['"v\\u0061lue":[1],"value":[1]', 'value'],
  ] as const
  for (const [text, name] of repeated) {
    t.match(parse('set', `{${text}}`), { code: 'duplicate_parameter', message: `Parameter "${name}" appears` }, text)
    const property = parse('add', `{"path":"a","properties":{${text}}}`)
    t.match(property, { code: 'invalid_property', message: `Property "${name}" appears` }, `property ${text}`)
  }
  const twice = parse('set', '{"path":"a","value":1,"constraint":{"value":[2],"v\\u0061lue":[2]}}')
  t.match(twice, refusal('duplicate_parameter', /"constraint\.value"/))
  t.match(parse('set', '{"a":1,"A":2,"é":3,"e":4,"":5}'), refusal('unknown_parameter', /"a"/), 'different names')
  t.end()
})

t.test('of many unknown or repeated members, the first is reported', (t) => {
  const members = (count: number): string => Array.from({ length: count }, (_, i) => `"m${i}":{"a":[${i}]}`).join()
  for (const route of ['set', 'add', 'addAndSet', 'remove', 'fetch']) {
    t.match(parse(route, `{"path":"a","value":1,${members(200)}}`), refusal('unknown_parameter', /"(m0|value)"/), route)
    t.match(parse(route, `{"path":"a","path":"a",${members(200)}}`), refusal('duplicate_parameter', /"path"/), route)
    t.match(parse(route, `{"path":"a",${members(200)},}`), refusal('invalid_json', /member name/), route)
  }
  const properties = (count: number): string => Array.from({ length: count }, (_, i) => `"p${i}":"v"`).join()
  t.match(parse('add', `{"path":"a","properties":{${properties(propertiesMax)}}}`), { kind: 'add' })
  const beyond = parse('add', `{"path":"a","properties":{${properties(propertiesMax + 9)}}}`)
  t.match(beyond, refusal('invalid_property', /"p64" exceeds the limit of 64 properties; there are 73/))
  t.end()
})

t.test('a member at the depth limit does not hide a later error in the body', (t) => {
  const [deepest, beyond] = [arrays(valueLevelsMax), arrays(valueLevelsMax + 1)]
  t.match(parse('set', `{"path":"a","value":${deepest}}`), { kind: 'set' })
  t.match(parse('set', `{"path":"a","value":${deepest},x}`), refusal('invalid_json', /found "x"/))
  t.match(parse('set', `{"path":"a","value":${beyond}}`), refusal('invalid_parameter', /"value" must not be nested/))
  t.match(parse('set', `{"value":${beyond},x}`), refusal('invalid_json', /found "x"/))
  t.match(parse('set', `{"value":${arrays(5000)},x}`), refusal('invalid_parameter', /"value" must not be nested/))
  t.match(
    parse('set', `{"constraint":${beyond},"x":${beyond}}`),
    refusal('invalid_parameter', /"x" must not be nested/),
  )
  const constraint = `{"constraint":${arrays(valueLevelsMax + 2)},"x":1}`
  t.match(parse('set', constraint), refusal('invalid_parameter', /"constraint" must not be nested/))
  const operation = (value: string): string => `{"op":"set","path":"a","value":${value}}`
  const later = parse('batch', `{"operations":[${operation(deepest)},${operation(beyond)},${operation('1')}]}`)
  t.match(later, { ...refusal('invalid_parameter', /"value" must not be nested/), operation: 1 })
  const first = parse('batch', `{"operations":[${operation('1')},{},${operation(beyond)}]}`)
  t.match(first, { ...refusal('missing_parameter', /"op"/), operation: 1 }, 'the earlier error is reported')
  t.end()
})

/** Bytes that are not UTF-8. */
const notUtf8: Readonly<Record<string, readonly number[]>> = {
  'a lone continuation byte': [0x80],
  'a two-byte lead before a letter': [0xc3, 0x61],
  'an overlong slash': [0xc0, 0xaf],
  'a high surrogate': [0xed, 0xa0, 0x80],
  'beyond U+10FFFF': [0xf4, 0x90, 0x80, 0x80],
  'UTF-16': [0xfe, 0xff],
}

t.test('invalid UTF-8 is rejected at any position, before any other error', (t) => {
  for (const [expectation, bytes] of Object.entries(notUtf8)) {
    const places = ['{"path":"#","value":1}', '{"#":1}', '{"path":"a","value":{"b":["c#"]}}', '{"path":1}#', '#', 'x#']
    for (const place of places) {
      const [before = '', after = ''] = place.split('#')
      const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])
      for (const route of ['set', 'fetch', 'batch']) {
        t.match(parse(route, body), refusal('invalid_utf8', /not valid UTF-8/), `${expectation} in ${place}, ${route}`)
      }
    }
  }
  t.end()
})

t.test('an escaped lone surrogate is allowed in values, but not in paths or properties', (t) => {
  for (const text of ['\\ud800', '\\udfff', '\\ud800\\u0041', '\\udc00\\ud800', 'x\\ud83d']) {
    const set = parse('set', `{"path":"a","value":"${text}"}`) as { readonly valueText: Uint8Array }
    t.equal(Buffer.from(set.valueText).toString(), `"${text}"`)
    t.match(parse('set', `{"path":"${text}","value":1}`), refusal('invalid_path', /lone surrogate/))
    const property = parse('add', `{"path":"a","properties":{"p":"${text}"}}`)
    t.match(property, refusal('invalid_property', /lone surrogate/))
  }
  t.end()
})

t.test('a value keeps its exact bytes at any position in the body', (t) => {
  const { pick } = seededRandom(t)
  const values = [
    ...['-0', '1e400', '12345678901234567890', '1.10', '"\\u0041\\/"', '{"a":1,"a":2}', '[ 1 , {} ]', 'null', '"é😀"'],
  ]
  const others = ['"type":"json"', '"constraint":{"value":{"value":[1]}}', '"properties":{"value":"x"}']
  for (let round = 0; round < 2000; round++) {
    const value = pick(values)
    const members = [`${pick(['"value"', '"v\\u0061lue"'])} : ${value} `, '"path":"a"', pick(others)]
    const body = `{${members.sort(() => pick([-1, 1])).join()}}`
    const { valueText } = parse('addAndSet', body) as { readonly valueText: Uint8Array }
    if (Buffer.from(valueText).toString() !== value) t.fail(body)
  }
  t.end()
})

t.test("a batch operation with a member of another kind is rejected, regardless of the member's value", (t) => {
  const foreign = {
    set: ['properties'],
    increment: ['properties', 'value'],
    addAndSet: ['increment'],
    add: ['increment', 'value'],
    remove: ['increment', 'properties', 'type', 'value'],
  }
  for (const [op, names] of Object.entries(foreign)) {
    const own = { set: ',"value":1', addAndSet: ',"value":1', increment: ',"increment":1' }[op] ?? ''
    for (const name of names) {
      for (const value of ['{"a":"b"}', '1', '"json"', 'null', '[]', 'true']) {
        const operation = `{"op":"${op}","path":"a"${own},"${name}":${value}}`
        const unknown = refusal('unknown_parameter', new RegExp(`"${name}"`))
        t.match(parse('batch', `{"operations":[${operation}]}`), { ...unknown, operation: 0 }, operation)
      }
    }
  }
  t.end()
})
