/**
 * Batch bodies: values are exact to the byte, and every fault is rejected where it occurs, with the index of its operation
 * if it is inside one.
 */
import t from 'tap'
import { valueLevelsMax } from '../../dist/settings/limits.js'
import { gives, refuses, refusesOperation } from '../support/expected-answers.js'
import { exactValues, printable } from '../support/models/exact-values.js'
import { overStores } from '../support/service/over-stores.js'

const arrays = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
const objects = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`

/** Faults of one operation: its source, the code, and strings in the message. */
const faults: readonly (readonly [operation: string, code: string, ...mentions: readonly string[]])[] = [
  ['null', 'invalid_parameter', '"operations"', 'an array that contains null', 'an array of objects'],
  ['5', 'invalid_parameter', '"operations"', 'an array that contains the number 5'],
  ['[]', 'invalid_parameter', '"operations"', 'an array that contains an array'],
  ['{"opp":"set","path":"a","value":1}', 'unknown_parameter', '"opp"', '"value"'],
  ['{"op":"set","path":"a","valeu":1}', 'unknown_parameter', '"valeu"'],
  ['{"op":"addAndSet","path":"a","valeu":1}', 'unknown_parameter', '"valeu"'],
  ['{"op":"increment","path":"a","increments":1}', 'unknown_parameter', '"increments"'],
  ['{"op":"add","pth":"a"}', 'unknown_parameter', '"pth"'],
  ['{"op":"remove","pth":"a"}', 'unknown_parameter', '"pth"'],
  ['{}', 'missing_parameter', '"op"', '"add", "addAndSet", "increment", "remove" or "set"'],
  ['{"op":"fetch","path":"a"}', 'invalid_parameter', '"op"', '"fetch"', '"add", "addAndSet", "increment"'],
  ['{"op":"__proto__","path":"a"}', 'invalid_parameter', '"op"'],
  ['{"op":null,"path":"a"}', 'invalid_parameter', '"op"', 'null'],
  ['{"op":"remove"}', 'missing_parameter', '"path"'],
  ['{"op":"set","path":"a"}', 'missing_parameter', '"value"'],
  ['{"op":"addAndSet","path":"a"}', 'missing_parameter', '"value"'],
  ['{"op":"remove","path":"a","selector":"*a//"}', 'unknown_parameter', '"selector"', '"constraint", "op", "path"'],
  ['{"op":"remove","path":"a","dry_run":true}', 'unknown_parameter', '"dry_run"'],
  ['{"op":"remove","path":"a","type":"json"}', 'unknown_parameter', '"type"'],
  ['{"op":"add","path":"a","value":1}', 'unknown_parameter', '"value"'],
  ['{"op":"set","path":"a","value":1,"properties":{}}', 'unknown_parameter', '"properties"'],
  ['{"op":"set","path":"a","value":1,"__proto__":1}', 'unknown_parameter', '"__proto__"'],
  ['{"op":"set","\\u006fp":"add","path":"a","value":1}', 'duplicate_parameter', '"op"'],
  ['{"op":"set","path":"a","value":1,"v\\u0061lue":2}', 'duplicate_parameter', '"value"'],
  ['{"op":"add","path":"a","constraint":{"no_topic":true},"constraint":1}', 'duplicate_parameter', '"constraint"'],
  ['{"op":"add","path":"a","properties":{"a":"1","\\u0061":"1"}}', 'invalid_property', '"a"', 'more than once'],
  ['{"op":"add","path":"a","properties":{"a":1}}', 'invalid_parameter', 'properties', 'the number 1'],
  ['{"op":"add","path":"a","properties":[]}', 'invalid_parameter', '"properties"', 'an array'],
  ['{"op":"add","path":"a","properties":{"REMOVAL":"never"}}', 'invalid_property', '"REMOVAL"'],
  ['{"op":"add","path":5}', 'invalid_parameter', '"path"', 'the number 5'],
  ['{"op":"add","path":"a//b"}', 'invalid_path', '"path"'],
  [`{"op":"add","path":"${'a'.repeat(1979)}"}`, 'invalid_path', '"path"'],
  ['{"op":"add","path":"a","type":"int"}', 'invalid_parameter', '"type"', '"json" or "string"'],
  ['{"op":"set","path":"a","type":"string","value":1}', 'invalid_parameter', '"value"', 'the number 1'],
  ['{"op":"add","path":"a","constraint":null}', 'invalid_parameter', '"constraint"', 'null'],
  ['{"op":"add","path":"a","constraint":{}}', 'invalid_parameter', '"constraint"', 'exactly one of'],
  ['{"op":"add","path":"a","constraint":{"value":1,"value":2}}', 'duplicate_parameter', 'constraint.value'],
]

await overStores(t, async (t, { post }) => {
  const batch = (...operations: readonly string[]) => post('batch', `{"operations":[${operations.join(',')}]}`)
  const item = (path: string, value: string): string => `{"path":"${path}","type":"json","value":${value}}`

  await t.test('a batch stores values exactly as sent, and value constraints match them', async (t) => {
    const path = (i: number): string => `v/${String(i).padStart(3, '0')}`
    const all = (operation: (text: string, i: number) => string) => batch(...exactValues.map(operation))
    const texts = (at: (text: string, i: number) => string): string => `{"results":[${exactValues.map(at).join(',')}]}`
    const created = texts((_, i) => `{"path":"${path(i)}","created":true}`)
    gives(t, await all((text, i) => `{"op":"addAndSet","path":"${path(i)}","value":${text}}`), created, 'addAndSet')
    const read = async (expectation: string): Promise<void> => {
      for (const [i, text] of exactValues.entries())
        gives(
          t,
          await post('fetch', { path: path(i) }),
          item(path(i), text),
          `${expectation}: ${printable(text.slice(0, 60))}`,
        )
    }
    await read('created')
    const set = (value: (text: string) => string, constraint: (text: string) => string) => (text: string, i: number) =>
      `{"constraint":{"value":${constraint(text)}},"value":${value(text)},"path":"${path(i)}","op":"set"}`
    const paths = texts((_, i) => `{"path":"${path(i)}"}`)
    gives(t, await all(set(() => 'null', String)), paths, 'each constraint holds')
    gives(t, await all(set(String, () => ' \n null\t')), paths, 'a constraint with white space around its value holds')
    await read('set')
  })

  await t.test('white space in and around a batch is ignored, except in strings', async (t) => {
    const spaced = `\r\n{ "operations" :\n[ \t{ "op" : "addAndSet" , "path" : "w" , "value" :\n [ 1.10 ,\t{ "a  b" :\r\n" c " } ] } ,
      { "\\u006fp":"add", "p\\u0061th":"w/2" } ]\n}\n`
    gives(
      t,
      await post('batch', spaced),
      '{"results":[{"path":"w","created":true},{"path":"w/2","created":true}]}',
      'a batch with white space',
    )
    gives(t, await post('fetch', { path: 'w' }), item('w', '[ 1.10 ,{ "a  b" :" c " } ]'), 'no line ends or tabs')
    const escaped = '{"operati\\u006fns":[{"op":"set","path":"w","v\\u0061lue":1.0}]}'
    gives(t, await post('batch', escaped), '{"results":[{"path":"w"}]}', 'names may be escaped')
    gives(t, await post('fetch', { path: 'w' }), item('w', '1.0'), 'the value is found')
    const inner = '{"operations":[{"value":9}],"constraint":{"value":[2]},"value":"]}"}'
    gives(t, await batch(`{"op":"set","value":${inner},"path":"w"}`), '{"results":[{"path":"w"}]}', 'names in a value')
    gives(t, await post('fetch', { path: 'w' }), item('w', inner), 'the value is stored as sent')
  })

  await t.test('an operation with a fault is reported with its index, and nothing is changed', async (t) => {
    await post('addAndSet', { path: 'f', value: 1 })
    const fine = ['{"op":"set","path":"f","value":2}', '{"op":"add","path":"f/new"}']
    for (const [operation, code, ...mentions] of faults) {
      const expectation = operation.slice(0, 80)
      refusesOperation(t, await batch(...fine, operation, 'null'), 400, code, 2, expectation, ...mentions)
      refusesOperation(t, await batch(operation), 400, code, 0, `${expectation}, alone`)
    }
    gives(t, await post('fetch', { path: 'f' }), item('f', '1'), 'nothing was set')
    refuses(t, await post('fetch', { path: 'f/new' }), 400, 'no_such_topic', 'nothing was added')
  })

  await t.test('a fault in the batch itself is reported without an index', async (t) => {
    const remove = '{"op":"remove","path":"f"}'
    for (const found of ['{}', 'null', '"x"', '5', 'true', remove]) {
      const answer = await post('batch', `{"operations":${found}}`)
      refuses(t, answer, 400, 'invalid_parameter', `operations ${found}`, '"operations"', 'an array')
    }
    refuses(t, await post('batch', '{}'), 400, 'missing_parameter', 'no operations', '"operations"')
    refuses(t, await post('batch', '{"ops":[]}'), 400, 'unknown_parameter', 'misspelt', '"ops"')
    for (const lines of [`${remove}\n${remove}`, `${remove}\r\n${remove}\n`, `${remove}\n\n {"op":`])
      refuses(t, await post('batch', lines), 400, 'invalid_json', 'lines', 'application/x-ndjson')
    refuses(t, await post('batch', `${remove}\n`), 400, 'unknown_parameter', 'one line', 'application/x-ndjson')
    const broken = await post('batch', `{"operations":\n{"op":}}`)
    refuses(t, broken, 400, 'invalid_json', 'JSON on two lines')
    t.notMatch(broken.message, 'x-ndjson')
    refuses(t, await post('batch', `[${remove}]`), 400, 'invalid_body', 'an array')
    refuses(t, await post('batch', 'null'), 400, 'invalid_body', 'null')
    const more = await post('batch', `{"operations":[${remove}],"path":"f"}`)
    refuses(t, more, 400, 'unknown_parameter', 'another member', '"path"', 'allowed parameters: "atomic", "operations"')
    for (const name of ['operations', 'operati\\u006fns']) {
      const twice = await post('batch', `{"operations":[${remove}],"${name}":[${remove}]}`)
      refuses(t, twice, 400, 'duplicate_parameter', name, '"operations"')
    }
    for (const text of [`${remove},`, `${remove}${remove}`, '{"op":"set","path":"f","value":01}', `${remove}]`, '{']) {
      refuses(t, await batch(text), 400, 'invalid_json', text)
    }
    const bytes = Buffer.from('{"operations":[{"op":"add","path":"\u0001"}]}')
    bytes[bytes.indexOf(1)] = 0xff
    refuses(t, await post('batch', bytes), 400, 'invalid_utf8', 'a byte that is not UTF-8')
    gives(t, await post('fetch', { path: 'f' }), item('f', '1'), 'nothing was removed')
  })

  await t.test(`operations and constraints accept values of ${valueLevelsMax} levels, but not of more`, async (t) => {
    const levels = `nested more than ${valueLevelsMax} levels deep`
    for (const make of [arrays, objects]) {
      const [value, beyond] = [make(valueLevelsMax), make(valueLevelsMax + 1)]
      const expectation = make.name
      await post('remove', { path: 'deep' })
      const created = await batch(`{"op":"addAndSet","path":"deep","value":${value}}`)
      gives(t, created, '{"results":[{"path":"deep","created":true}]}', `${expectation} in an operation`)
      const set = `{"path":"deep","value":${value},"constraint":{"value":${value}}}`
      gives(t, await post('set', set), '{"path":"deep"}', `${expectation} in a constraint`)
      gives(t, await batch(`{"op":"set",${set.slice(1)}`), '{"results":[{"path":"deep"}]}', `${expectation} in both`)
      const tooDeep = `{"op":"set","path":"deep","value":${beyond}}`
      refusesOperation(t, await batch(tooDeep), 400, 'invalid_parameter', 0, `${expectation} + 1`, '"value"', levels)
      const constrained = `{"path":"deep","value":1,"constraint":{"value":${beyond}}}`
      refuses(t, await post('set', constrained), 400, 'invalid_parameter', `${expectation} + 1`, '"constraint"', levels)
      const operation = `{"op":"set",${constrained.slice(1)}`
      const refused = await batch('{"op":"remove","path":"deep"}', operation)
      refusesOperation(t, refused, 400, 'invalid_parameter', 1, `${expectation} + 1 in a batch`, '"constraint"', levels)
      gives(t, await post('fetch', { path: 'deep' }), item('deep', value), `${expectation}: nothing else was changed`)
    }
    const brackets = 2 ** 20 - 100
    const open = await post('batch', `{"operations":[{"op":"set","path":"a","value":${'['.repeat(brackets)}`)
    refuses(t, open, 400, 'invalid_parameter', 'a body full of brackets', '"operations"', levels)
    const elements = await post('batch', `{"operations":${'['.repeat(brackets)}`)
    refuses(t, elements, 400, 'invalid_parameter', 'arrays in place of operations', '"operations"', levels)
  })
})
