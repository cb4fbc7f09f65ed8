/**
 * What a megabyte of body costs before anything is done with it: whatever it consists of, accepted or refused, no more
 * than a few times what a valid value of that size costs. Both are measured in the same process.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'

/**
 * How many times the CPU time of the valid value a body may cost. At most 5.8 was measured alone, once V8 has compiled
 * everything. When the valid value cost twice as much as it does now, bodies whose members were all parsed, and their
 * errors all collected, cost 10 to 30 times as much as it, and REMOVALs of many parentheses 22 times.
 */
const ratioMax = 12

const bodyBytes = 1024 * 1024

/** A body of about a megabyte: `piece` repeated, each with another number in place of `#`. */
interface Family {
  readonly name: string
  readonly route: 'set' | 'addAndSet' | 'add' | 'remove' | 'fetch' | 'batch'
  readonly start: string
  readonly piece: string
  readonly end: string
  /** What the refusal says; undefined for a body that is accepted. */
  readonly refusal?: string
}

const valid: Family = {
  name: 'a valid value',
  route: 'set',
  start: '{"path":"a","value":[',
  piece: '{"id":#,"name":"n#","on":true,"at":{"x":#.5,"y":-1}}',
  end: ']}',
}

const routes = [
  ['set', '{"path":"a","value":1,'],
  ['addAndSet', '{"path":"a","value":1,'],
  ['add', '{"path":"a",'],
  ['remove', '{"path":"a",'],
  ['fetch', '{"path":"a",'],
  ['batch', '{"operations":[],'],
] as const

const perRoute = routes.flatMap(([route, start]): Family[] => [
  { name: 'unknown members', route, start, piece: '"m#":0', end: '}', refusal: 'Parameter "m0" is not known here' },
  {
    name: 'nested unknown members',
    route,
    start: `${start}"x":[`,
    piece: '{"m#":{"n#":0}}',
    end: ']}',
    refusal: 'Parameter "x" is not known here',
  },
  {
    name: 'one member repeated',
    route,
    start: `${start}"x":0,`,
    piece: '"x":0',
    end: '}',
    refusal: 'Parameter "x" is given more than once',
  },
  {
    name: 'invalid at the last byte',
    route,
    start,
    piece: '"m#":0',
    end: 'x',
    refusal: 'is not valid JSON: found "x" at byte',
  },
])

/** A batch of somewhat fewer than 1,000 operations, each of which adds a topic with these properties. */
function batchOf(name: string, properties: readonly string[], refusal?: string): Family {
  return {
    name: `a batch of ${name}`,
    route: 'batch',
    start: '{"operations":[',
    piece: `{"op":"add","path":"a/#","properties":{${properties.join()}}}`,
    end: ']}',
    ...(refusal === undefined ? {} : { refusal }),
  }
}

/** Conditions of a REMOVAL, as many as one may have. */
function removal(condition: string): string {
  return `"REMOVAL":"when ${Array.from({ length: 16 }, () => condition).join(' or ')}"`
}

function numbered(count: number, property: (index: number) => string): string[] {
  return Array.from({ length: count }, (_, index) => property(index))
}

const batches: readonly Family[] = [
  batchOf(
    'many properties',
    numbered(64, (index) => `"m${index}":"00000000"`),
  ),
  batchOf(
    'properties that all have other names',
    numbered(64, (index) => `"m#n${index}":"00000"`),
  ),
  batchOf(
    'properties that end with a number',
    [...numbered(63, (index) => `"m${index}":"00000000"`), '"x":0'],
    'Parameter "properties.x" is the number 0',
  ),
  batchOf('long REMOVALs', [removal('no updates for 10m after 5m'), `"m":"${'x'.repeat(540)}"`]),
  batchOf('REMOVALs of dates', [removal("time after 'Sun, 3 Jun 2018 13:30:00 +0130'"), `"m":"${'x'.repeat(250)}"`]),
  batchOf('REMOVALs of many parentheses', [removal('((no updates for 10m after 5m))'), `"m":"${'x'.repeat(480)}"`]),
]

const families: readonly Family[] = [
  ...perRoute,
  ...batches,
  ...(['set', 'addAndSet', 'add', 'remove'] as const).map(
    (route): Family => ({
      name: 'a constraint of many members',
      route,
      start: `{"path":"a",${route.includes('et') ? '"value":1,' : ''}"constraint":{`,
      piece: '"m#":0',
      end: '}}',
      refusal: 'Parameter "constraint.m0" is not known here',
    }),
  ),
  ...['[{},#]', '[{"k#":1},1]', '1.5'].map((element) => ({
    name: `a property of many ${element}`,
    route: 'add' as const,
    start: '{"path":"a","properties":{"A":[',
    piece: element,
    end: ']}}',
    refusal: 'is an array; a string is allowed',
  })),
  ...['{', '{"path":"a","value":1,"constraint":{'].map((start) => ({
    name: `${start} and names of escapes`,
    route: 'set' as const,
    start,
    piece: '"\\u0061":#',
    end: start.length > 1 ? '}}' : '}',
    refusal: 'a',
  })),
  {
    name: 'properties that are numbers',
    route: 'add',
    start: '{"path":"a","properties":{',
    piece: '"m#":0',
    end: '}}',
    refusal: 'a topic may have 64',
  },
  {
    name: 'too many properties',
    route: 'add',
    start: '{"path":"a","properties":{',
    piece: '"m#":"0"',
    end: '}}',
    refusal: 'Property "m64" is one of',
  },
  { name: 'a value of many names', route: 'set', start: '{"path":"a","value":{', piece: '"m#":0', end: '}}' },
  { name: 'a value of empty objects', route: 'set', start: '{"path":"a","value":[', piece: '{}', end: ']}' },
  {
    name: 'a value of deep arrays',
    route: 'set',
    start: '{"path":"a","value":[',
    piece: '['.repeat(900) + ']'.repeat(900),
    end: ']}',
  },
  ...[`1${' '.repeat(500)}`, '\n  {"a": 1}', 'true', '-12.5e+3', '""'].map(
    (piece): Family => ({
      name: `a value of ${JSON.stringify(piece.trim())}`,
      route: 'set',
      start: '{"path":"a","value":[',
      piece,
      end: ']}',
    }),
  ),
  ...['\\n', '\\"', `${'\\'.repeat(9998)}\\"`].map(
    (piece): Family => ({
      name: `a string of ${piece.slice(-4)}`,
      route: 'set',
      start: '{"path":"a","value":"',
      piece,
      end: '\\x"}',
      refusal: 'found "x"',
    }),
  ),
  {
    name: 'a batch of too many operations',
    route: 'batch',
    start: '{"operations":[',
    piece: '{}',
    end: ']}',
    refusal: 'an array of 1 to 1000 operations is allowed',
  },
  {
    name: 'one operation of unknown members',
    route: 'batch',
    start: '{"operations":[{"op":"set","path":"a","value":1,',
    piece: '"m#":0',
    end: '}]}',
    refusal: 'Parameter "m0" is not known here; allowed are "constraint", "increment", "op", "path", "type", "value"',
  },
]

/** Runs in a process of its own, where no coverage is counted; prints what each family costs, in ms of CPU. */
const script = `
  const [api, families, bodyBytes, ratioMax] = JSON.parse(process.argv[1])
  const { parseSet, parseAddAndSet, parseAdd, parseRemove } = await import(api + '/parse.js')
  const { parseBatch } = await import(api + '/parse-batch.js')
  const { parseFetch } = await import(api + '/parse-fetch.js')
  const parsers = {
    set: parseSet, addAndSet: parseAddAndSet, add: parseAdd, remove: parseRemove,
    batch: (bytes) => parseBatch(bytes, 1000), fetch: (bytes) => parseFetch(bytes, 1000),
  }
  let validMs = 0
  const results = families.map(({ route, start, piece, end }) => {
    const pieces = []
    for (let i = 0, length = start.length + end.length; length < bodyBytes; i++) {
      pieces.push(piece.replaceAll('#', i))
      length += pieces[i].length + 1
    }
    const bytes = Buffer.from(start + pieces.join() + end)
    const { message } = parsers[route](bytes)
    let ms = Infinity
    // V8 has compiled the parsers for good only after some megabytes of each kind.
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

t.test('no megabyte costs much more than a valid value of that size, and its refusal says what is wrong', (t) => {
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
  for (const [index, { name, route, refusal }] of families.entries()) {
    const { message, ms = Infinity } = results[index] ?? {}
    if (refusal === undefined) t.equal(message, undefined, `${route}, ${name}: accepted`)
    else t.ok(message?.includes(refusal), `${route}, ${name}: ${message?.slice(0, 120)}`)
    t.ok(ms < ratioMax * validMs, `${route}, ${name}: ${ms.toFixed(1)} ms, a valid value ${validMs.toFixed(1)} ms`)
  }
  t.end()
})
