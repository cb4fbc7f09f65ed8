/** The client slices values out of responses exactly as JSON.parse finds them, at any depth. */
import t from 'tap'
import { elementsOf, membersOf } from '../../dist/client/json-slices.js'
import { type Random, seededRandom } from '../support/random.js'

const spaces = ['', '', '', ' ', '\n', '\t\r\n  ']
const scalars = ['0', '-0', '1.10', '1e400', '12345678901234567890', 'true', 'false', 'null']
const strings = String.raw`"" "a" "\"" "\\" "\\\"" "]},:[" "\u0022" "é😀" "__proto__" "\u0061"`.split(' ')

/** A random JSON text, with white space, escapes, repeated names and brackets within strings. */
function randomJson(random: Random, levels: number): string {
  const space = () => random.pick(spaces)
  const parts = (one: () => string) =>
    Array.from({ length: random.below(4) }, () => space() + one() + space()).join(',') || space()
  const value = () => randomJson(random, levels - 1)
  switch (levels === 0 ? random.below(2) : random.below(4)) {
    case 0:
      return random.pick(scalars)
    case 1:
      return random.pick(strings)
    case 2:
      return `[${parts(value)}]`
    default:
      return `{${parts(() => `${random.pick(strings)}${space()}:${space()}${value()}`)}}`
  }
}

t.test('each slice of random JSON parses to the value that JSON.parse finds, and has no white space around it', (t) => {
  const random = seededRandom(t)
  let slices = 0
  let refused = 0
  for (let round = 0; round < 4000; round++) {
    const text = randomJson(random, 4)
    const parsed: unknown = JSON.parse(text)
    if (Array.isArray(parsed)) {
      const elements = elementsOf(text)
      slices += elements.length
      if (elements.some((slice) => slice !== slice.trim())) t.fail(`white space around an element of ${text}`)
      if (JSON.stringify(elements.map(parse)) !== JSON.stringify(parsed)) t.fail(text)
    } else if (typeof parsed === 'object' && parsed !== null) {
      const members = membersOf(` ${text}\n`)
      slices += members.size
      const expected = Object.getOwnPropertyNames(parsed).map((name) => [name, Reflect.get(parsed, name)])
      const found = [...members].map(([name, slice]) => [name, parse(slice)])
      if (String(sorted(found)) !== String(sorted(expected))) t.fail(text)
    } else {
      refused++
      if (!isRefused(() => elementsOf(text)) || !isRefused(() => membersOf(text))) t.fail(text)
    }
  }
  t.ok(slices > 1000 && refused > 200, `${slices} slices, ${refused} inputs that are neither object nor array`)
  t.end()
})

function isRefused(cut: () => unknown): boolean {
  try {
    cut()
    return false
  } catch (error) {
    return error instanceof SyntaxError
  }
}

function parse(text: string): unknown {
  return JSON.parse(text)
}

/** Sorts members, because JSON.parse puts integer names first. */
function sorted(members: readonly unknown[]): readonly string[] {
  return members.map((member) => JSON.stringify(member)).sort()
}

t.test('a slice keeps every digit, escape, space and repeated name of its text', (t) => {
  const value = '{"b" : 1.10,"a":[1e400,-0],"b":2,"\\u0061":"\\/"}'
  t.equal(membersOf(`{"path":"p","value":${value},"type":"json"}`).get('value'), value)
  t.strictSame(elementsOf(`[${value} ,\n1.0]`), [value, '1.0'])
  t.equal(membersOf('{"\\u0076alue":1,"value":2.0}').get('value'), '2.0', 'the last of a repeated name')
  t.end()
})

t.test('JSON nested 1,000 or a million levels deep is sliced', (t) => {
  for (const levels of [1000, 1_000_000]) {
    const deep = '['.repeat(levels) + ']'.repeat(levels)
    t.equal(membersOf(`{"value":${deep}}`).get('value')?.length, deep.length)
    const deepObject = '{"a":'.repeat(levels) + 1 + '}'.repeat(levels)
    t.equal(elementsOf(`[${deepObject}]`)[0]?.length, deepObject.length)
  }
  t.end()
})

t.test('JSON that is truncated anywhere is rejected', (t) => {
  const item = '{"path":"a\\"b","value":{"x":[1,"]"]},"n":[]}'
  for (let length = 0; length < item.length; length++) {
    t.throws(() => membersOf(item.slice(0, length)), SyntaxError, item.slice(0, length))
  }
  for (const text of ['[1 2]', '[1,]', '[,1]', '[1]]', '{}']) t.throws(() => elementsOf(text), SyntaxError, text)
  for (const text of ['{"a" 1}', '{"a":}', '{a:1}', '{"a":1,}', '{"a":1}x', '[]'])
    t.throws(() => membersOf(text), SyntaxError, text)
  t.end()
})
