/**
 * The cost of parsing a megabyte of body: any content, accepted or rejected, costs at most a few times as much as a valid
 * value of that size. Both are measured in the same process.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'

/**
 * The maximum CPU time of a body, as a multiple of the valid value's. Measured alone, the ratio is at most 5.8 once V8 has
 * compiled everything. When the valid value cost twice as much as now, bodies whose members were all parsed, and whose errors
 * were all collected, had a ratio of 10 to 30; REMOVALs of many parentheses had 22.
 */
const ratioMax = 12

const bodyBytes = 1024 * 1024

type Route = 'set' | 'addAndSet' | 'add' | 'remove' | 'fetch' | 'batch'

/**
 * A body of about a megabyte: `piece` repeated between `start` and `end`, each with another number in place of `#`; and
 * part of its error message, if it is rejected.
 */
type Family = readonly [name: string, route: Route, start: string, piece: string, end: string, refusal?: string]

const object = '{"id":#,"name":"n#","on":true,"at":{"x":#.5,"y":-1}}'
const valid: Family = ['a valid value', 'set', '{"path":"a","value":[', object, ']}']

const routes = [
  ['set', '{"path":"a","value":1,'],
  ['addAndSet', '{"path":"a","value":1,'],
  ['add', '{"path":"a",'],
  ['remove', '{"path":"a",'],
  ['fetch', '{"path":"a",'],
  ['batch', '{"operations":[],'],
] as const

const perRoute = routes.flatMap(([route, start]): Family[] => [
  ['unknown members', route, start, '"m#":0', '}', 'Unknown parameter "m0"'],
  ['nested unknown members', route, `${start}"x":[`, '{"m#":{"n#":0}}', ']}', 'Unknown parameter "x"'],
  ['one member repeated', route, `${start}"x":0,`, '"x":0', '}', 'Parameter "x" appears more than once'],
  ['invalid at the last byte', route, start, '"m#":0', 'x', 'is not valid JSON: found "x" at byte'],
])

/** A batch of slightly fewer than 1,000 operations, each of which adds a topic with these properties. */
function batchOf(name: string, properties: readonly string[], refusal?: string): Family {
  const piece = `{"op":"add","path":"a/#","properties":{${properties.join()}}}`
  return [`a batch of ${name}`, 'batch', '{"operations":[', piece, ']}', refusal]
}

/** A REMOVAL with the maximum number of conditions. */
function removal(condition: string): string {
  return `"REMOVAL":"when ${Array.from({ length: 16 }, () => condition).join(' or ')}"`
}

function numbered(count: number, property: (index: number) => string): string[] {
  return Array.from({ length: count }, (_, index) => property(index))
}

const many = (count: number): string[] => numbered(count, (index) => `"m${index}":"00000000"`)
const otherNames = numbered(64, (index) => `"m#n${index}":"00000"`)
const dates = removal("time after 'Sun, 3 Jun 2018 13:30:00 +0130'")
const parentheses = removal('((no updates for 10m after 5m))')

const families: readonly Family[] = [
  ...perRoute,
  batchOf('many properties', many(64)),
  batchOf('properties with distinct names', otherNames),
  batchOf(
    'properties that end with a number',
    [...many(63), '"x":0'],
    'Parameter "properties.x" must be a string, not the number 0',
  ),
  batchOf('long REMOVALs', [removal('no updates for 10m after 5m'), `"m":"${'x'.repeat(540)}"`]),
  batchOf('REMOVALs of dates', [dates, `"m":"${'x'.repeat(250)}"`]),
  batchOf('REMOVALs of many parentheses', [parentheses, `"m":"${'x'.repeat(480)}"`]),
  ...routes.slice(0, 4).map(([route, start]): Family => {
    const refusal = 'Unknown parameter "constraint.m0"'
    return ['a constraint of many members', route, `${start}"constraint":{`, '"m#":0', '}}', refusal]
  }),
  ...['[{},#]', '[{"k#":1},1]', '1.5'].map((piece): Family => {
    const refusal = 'must be a string, not an array'
    return [`a property of many ${piece}`, 'add', '{"path":"a","properties":{"A":[', piece, ']}}', refusal]
  }),
  ['names of escapes', 'set', '{', '"\\u0061":#', '}', 'a'],
  ['names of escapes in a constraint', 'set', '{"path":"a","value":1,"constraint":{', '"\\u0061":#', '}}', 'a'],
  ['properties that are numbers', 'add', '{"path":"a","properties":{', '"m#":0', '}}', 'the limit of 64'],
  ['too many properties', 'add', '{"path":"a","properties":{', '"m#":"0"', '}}', 'Property "m64" exceeds the limit'],
  ['a value of many names', 'set', '{"path":"a","value":{', '"m#":0', '}}'],
  ['a value of deep arrays', 'set', '{"path":"a","value":[', '['.repeat(900) + ']'.repeat(900), ']}'],
  ...['{}', `1${' '.repeat(500)}`, '\n  {"a": 1}', 'true', '-12.5e+3', '""'].map((piece): Family => {
    return [`a value of ${JSON.stringify(piece.trim())}`, 'set', '{"path":"a","value":[', piece, ']}']
  }),
  ...['\\n', '\\"', `${'\\'.repeat(9998)}\\"`].map((piece): Family => {
    return [`a string of ${piece.slice(-4)}`, 'set', '{"path":"a","value":"', piece, '\\x"}', 'found "x"']
  }),
  ['too many operations', 'batch', '{"operations":[', '{}', ']}', 'must be an array of 1 to 1000 operations'],
  [
    'one operation of unknown members',
    'batch',
    '{"operations":[{"op":"set","path":"a","value":1,',
    '"m#":0',
    '}]}',
    'Unknown parameter "m0"; allowed parameters: "constraint", "increment", "op", "path", "type", "value"',
  ],
]

/** Runs in its own process, without coverage; prints the CPU time of each family, in ms. */
const script = `
  const [api, families, bodyBytes, ratioMax] = JSON.parse(process.argv[1])
  const { parseRemove, parseWrite } = await import(api + '/parse.js')
  const { parseBatch } = await import(api + '/parse-batch.js')
  const { parseFetch } = await import(api + '/parse-fetch.js')
  const parsers = {
    ...Object.fromEntries(['set', 'addAndSet', 'add'].map((route) => [route, (bytes) => parseWrite(route, bytes)])),
    remove: parseRemove,
    batch: (bytes) => parseBatch(bytes, 1000), fetch: (bytes) => parseFetch(bytes, 1000),
  }
  let validMs = 0
  const results = families.map(([, route, start, piece, end]) => {
    const pieces = []
    for (let i = 0, length = start.length + end.length; length < bodyBytes; i++) {
      pieces.push(piece.replaceAll('#', i))
      length += pieces[i].length + 1
    }
    const bytes = Buffer.from(start + pieces.join() + end)
    const { message } = parsers[route](bytes)
    let ms = Infinity
    // V8 needs a few megabytes of each kind to finish optimising the parsers.
    for (let run = 0; run < 5 || (run < 40 && validMs > 0 && ms > ratioMax * validMs); run++) {
      const before = process.cpuUsage()
      parsers[route](bytes)
      const { user, system } = process.cpuUsage(before)
      ms = Math.min(ms, (user + system) / 1000)
    }
    validMs ||= ms
    return { message, ms }
  })
  console.log(JSON.stringify(results))`

t.test('no body takes many times as long to parse as a valid value of the same size', (t) => {
  const { NODE_V8_COVERAGE: _, NODE_OPTIONS: __, ...env } = process.env
  const argument = JSON.stringify([
    join(import.meta.dirname, '../../dist/api/bodies'),
    [valid, ...families],
    bodyBytes,
    ratioMax,
  ])
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script, argument], {
    env,
    encoding: 'utf8',
  })
  t.equal(stderr, '')
  const [base, ...results] = JSON.parse(stdout) as { message?: string; ms: number }[]
  const validMs = base?.ms ?? 0
  for (const [index, [name, route, , , , refusal]] of families.entries()) {
    const { message, ms = Infinity } = results[index] ?? {}
    if (refusal === undefined) t.equal(message, undefined, `${route}, ${name}: accepted`)
    else t.ok(message?.includes(refusal), `${route}, ${name}: ${message?.slice(0, 120)}`)
    t.ok(ms < ratioMax * validMs, `${route}, ${name}: ${ms.toFixed(1)} ms, a valid value ${validMs.toFixed(1)} ms`)
  }
  t.end()
})
