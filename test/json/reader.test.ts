/**
 * The JSON reader accepts exactly what JSON.parse accepts and reads the same value; the texts that it returns are the bytes
 * that were sent. `MUTATIONS` sets the number of mutated texts; ten million take five minutes:
 *
 *     MUTATIONS=10000000 node dist-test/support/run.js json/reader --timeout=1800
 */
import t from 'tap'
import { JsonReader } from '../../dist/json/reader.js'
import { treeOf } from '../support/json-tree.js'
import { mutated } from '../support/models/json-texts.js'
import { type Random, seededRandom } from '../support/random.js'

const levelsMax = 1000

function readerOf(text: string, levels = levelsMax): JsonReader {
  return new JsonReader(Buffer.from(text), levels)
}

/** The meaning of a text, wrapped because it may be any value; undefined if it is not JSON. */
type Meaning = { readonly value: unknown } | undefined

function parsed(text: string): Meaning {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

function read(text: string): Meaning {
  const reader = readerOf(text)
  const value = treeOf(reader)
  return reader.problem() === undefined ? { value } : undefined
}

/** Shows values that JSON.stringify does not distinguish: -0, and numbers that are not finite. */
function shown(meaning: Meaning): string {
  return JSON.stringify(meaning, (_, value) =>
    typeof value === 'number' && JSON.stringify(value) !== String(value)
      ? `number ${Object.is(value, -0) ? '-0' : value}`
      : value,
  )
}

/** The problem of a text whose value is only skipped. */
function passed(text: string): string | undefined {
  const reader = readerOf(text)
  reader.skip()
  return reader.problem()
}

t.test('a mutated text is accepted if and only if JSON.parse accepts it, with the same meaning', (t) => {
  const random = seededRandom(t)
  const rounds = Number(process.env.MUTATIONS ?? 20_000)
  let accepted = 0
  for (let round = 0; round < rounds; round++) {
    const text = mutated(random)
    const expected = parsed(text)
    const found = read(text)
    if (expected !== undefined) accepted++
    if ((expected === undefined) !== (found === undefined) || (passed(text) === undefined) !== (found !== undefined)) {
      t.fail(`${JSON.stringify(text)}: ${shown(found)}, not ${shown(expected)}`)
    } else if (shown(found) !== shown(expected)) t.fail(`${JSON.stringify(text)} means ${shown(found)}`)
  }
  t.ok(accepted > rounds / 100 && accepted < rounds * 0.9, `${accepted} of ${rounds} were accepted`)
  t.end()
})

/** Includes the lengths around which a string is no longer read byte by byte. */
const lengthMax = 100

const escapes = ['\\"', '\\\\', '\\n', '\\u0022', '\\/', '\\ud800', '\\ud83d\\ude00']

/** A JSON string with escapes at random positions, or without any. */
function randomString(random: Random): string {
  const percentEscaped = random.pick([0, 2, 10, 50])
  let text = ''
  for (let i = random.below(lengthMax); i > 0; i--) {
    text += random.below(100) < percentEscaped ? random.pick(escapes) : random.pick([...'xä,{}[]: 😀'])
  }
  return `"${text}"`
}

t.test('strings of any length, with escapes anywhere, are read completely and decoded', (t) => {
  const random = seededRandom(t)
  for (let round = 0; round < 3000; round++) {
    const [first, second] = [randomString(random), randomString(random)]
    const text = `{${first}:[${second}],"end":${second}}`
    if (shown(read(text)) !== shown(parsed(text))) t.fail(text)
  }
  t.end()
})

t.test('a control character is found at any position in a string', (t) => {
  for (let length = 1; length <= lengthMax; length++) {
    for (let at = 0; at < length; at++) {
      const problem = passed(`"${'x'.repeat(at)}\u001f${'x'.repeat(length - at - 1)}"`)
      if (!problem?.includes(`U+001F at byte ${at + 2},`)) t.fail(`${at} of ${length}: ${problem}`)
    }
  }
  t.end()
})

const numbers = [
  ...'0 7 999999999 1000000000 -0 0.0 -0.0 1.10 1e0 1E+2 0.1e-2 1e400 -1e400 1e-400 4.9e-324'.split(' '),
  ...['12345678901234567890', '9007199254740993', `1${'0'.repeat(400)}`, `0.${'0'.repeat(400)}1`],
]

t.test('a number has the value that JSON.parse returns, and its own text', (t) => {
  for (const text of numbers) {
    const reader = readerOf(` ${text} `)
    t.ok(Object.is(reader.value(), JSON.parse(text)), text.slice(0, 30))
    t.equal(reader.numberText, text)
    t.equal(reader.problem(), undefined)
    t.equal(Buffer.from(readerOf(text).text()).toString(), text)
  }
  t.end()
})

t.test('the text of a value is returned without tabs and line ends', (t) => {
  const textOf = (text: string): string => Buffer.from(readerOf(text).text()).toString()
  for (const text of ['[ 1.10 , { "a  b" : " c " } ]', '"\\t\\n"', '{"a":1,"a":2}', '"é😀"', ' null']) {
    t.equal(textOf(text), text.trim())
  }
  t.equal(textOf('\r\n[\t1,\n{ "a":\r\n"\\n" }\n]\n'), '[1,{ "a":"\\n" }]')
  const bytes = Buffer.from('{"value":[1, 2]}')
  const reader = new JsonReader(bytes, levelsMax)
  t.equal(reader.enterObject(), 'value')
  t.equal(reader.text().buffer, bytes.buffer, 'the text is a view')
  t.end()
})

const arrays = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
const objects = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`

t.test('reading stops one level beyond the depth limit and reports no problem', (t) => {
  for (const make of [arrays, objects]) {
    for (const levels of [levelsMax, levelsMax + 1, 100_000]) {
      for (const way of ['skip', 'tree'] as const) {
        const reader = readerOf(make(levels))
        const found = way === 'skip' ? reader.skip() : treeOf(reader)
        t.equal(reader.problem(), undefined, `${way} ${make.name} ${levels}`)
        t.equal(reader.deepest, Math.min(levels, levelsMax + 1))
        if (way === 'tree' && levels === levelsMax) t.strictSame(found, JSON.parse(make(levels)))
      }
    }
    t.match(passed(`[${make(levelsMax - 1)},x]`), /^found "x"/, 'an error after the deepest level is found')
    t.match(passed(`[x,${make(levelsMax + 1)}]`), /^found "x"/, 'an error before an excess level is found')
  }
  t.equal(readerOf('['.repeat(1_000_000), Infinity).skip(), undefined, 'no depth overflows the stack')
  t.end()
})

t.test('members with any name become own properties, and the last of several with the same name counts', (t) => {
  const text = '{"__proto__":{"a":1},"toString":2,"a":1,"\\u0061":2,"7":0,"3":1}'
  t.strictSame(shown(read(text)), shown(parsed(text)))
  t.end()
})
