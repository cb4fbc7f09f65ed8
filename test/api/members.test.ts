/** The pass over a body's members finds their texts, wherever quotes and backslashes are. */
import t from 'tap'
import { scanMembers } from '../../dist/api/members.js'
import { parseSet } from '../../dist/api/parse.js'
import { type Random, seededRandom } from '../support/random.js'

function textOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes && Buffer.from(bytes).toString()
}

/** Lengths around those at which the pass changes from single bytes to a search, and back. */
const lengthMax = 100

const escapes = ['\\"', '\\\\', '\\n', '\\u0022', '\\/']

/** A JSON string with escapes at random positions, or without any. */
function randomString(random: Random): string {
  const percentEscaped = random.pick([0, 2, 10, 50])
  let text = ''
  for (let i = random.below(lengthMax); i > 0; i--) {
    text += random.below(100) < percentEscaped ? random.pick(escapes) : random.pick([...'xä,{}[]: '])
  }
  return `"${text}"`
}

t.test('a string of any length, with escapes anywhere, is found whole', (t) => {
  const random = seededRandom(t)
  const wrong: string[] = []
  for (let i = 0; i < 20_000; i++) {
    const value = random.oneIn(2) ? randomString(random) : `[${randomString(random)},{"a":${randomString(random)}}]`
    const body = `{${randomString(random)}:${randomString(random)},"value":${value},"size":7}`
    const members = scanMembers(Buffer.from(body))
    const isRight = members.count === 3 && textOf(members.value) === value && textOf(members.size) === '7'
    if (!isRight) wrong.push(body)
  }
  t.strictSame(wrong.slice(0, 3), [])
  t.end()
})

t.test('backslashes up to the closing quote are counted, at every distance', (t) => {
  const wrong: string[] = []
  for (let before = 0; before <= lengthMax; before++) {
    for (let pairs = 0; pairs < 3; pairs++) {
      const string = `"${'x'.repeat(before)}${'\\\\'.repeat(pairs)}"`
      const escaped = `"${'x'.repeat(before)}${'\\\\'.repeat(pairs)}\\",y"`
      for (const text of [string, escaped]) {
        const { value } = scanMembers(Buffer.from(`{"value":${text},"a":1}`))
        if (textOf(value) !== text) wrong.push(text)
      }
    }
  }
  t.strictSame(wrong, [])
  t.end()
})

t.test('the pass over a text that is cut off anywhere ends', (t) => {
  const body = `{"value":"${'x'.repeat(40)}\\"${'y'.repeat(40)}\\\\","path":"${'z'.repeat(70)}\\\\\\""}`
  const firstEnd = body.indexOf(',"path"')
  for (let end = 0; end < body.length; end++) {
    const { count, value } = scanMembers(Buffer.from(body.slice(0, end)))
    t.ok(count <= 2)
    if (end >= firstEnd) t.equal(textOf(value), body.slice('{"value":'.length, firstEnd), `of ${end} bytes`)
  }
  t.end()
})

t.test('a constraint that nests as deep as it may does not hide what is wrong after it', (t) => {
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
  const parse = (body: string): unknown => parseSet(Buffer.from(body))
  t.match(parse(`{"constraint":${deep(1001)},x":${deep(1001)}}`), { code: 'invalid_json' })
  t.match(parse(`{"constraint":${deep(1001)},"x":${deep(1001)}}`), { code: 'invalid_parameter', message: /"x"/ })
  t.match(parse(`{"constraint":${deep(1002)},"x":1}`), { code: 'invalid_parameter', message: /"constraint"/ })
  t.end()
})
