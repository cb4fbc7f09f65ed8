/**
 * A value matches a constraint if both JSON texts have the same tokens: random texts (SEED=… replays them) match with other
 * white space, but not with one byte or token changed.
 */
import t from 'tap'
import { ValueText } from '../../dist/topics/constraint.js'
import { at } from '../support/elements.js'
import { type Random, seededRandom } from '../support/random.js'

/** Whether the value `b` matches a constraint with the text `a`. */
function areSameTokens(a: Buffer, b: Buffer): boolean {
  return new ValueText(b).is(a)
}

const same = (a: string, b: string): boolean => {
  const forwards = areSameTokens(Buffer.from(a), Buffer.from(b))
  const backwards = areSameTokens(Buffer.from(b), Buffer.from(a))
  if (forwards !== backwards) throw new Error(`the order matters for ${a} and ${b}`)
  return forwards
}

const characters = ['a', 'é', '😀', ' ', '  ', '\\"', '\\\\', '\\n', '\\u0020', '\\u00e9', ',', ':', ']', '}', '{']
const scalars = ['0', '-0', '1', '1.0', '10', '1e400', '12345678901234567890', 'true', 'false', 'null', '""', '"1"']

function stringToken(random: Random): string {
  return `"${Array.from({ length: random.below(6) }, () => random.pick(characters)).join('')}"`
}

/** The tokens of a random JSON value. */
function valueTokens(random: Random, levels: number): readonly string[] {
  const kind = levels === 0 ? 0 : random.below(4)
  const members = random.below(4)
  if (kind < 2) return [kind === 0 ? random.pick(scalars) : stringToken(random)]
  const separated = Array.from({ length: members }, (_, i) => [
    ...(i === 0 ? [] : [',']),
    ...(kind === 2 ? [] : [stringToken(random), ':']),
    ...valueTokens(random, levels - 1),
  ]).flat()
  return kind === 2 ? ['[', ...separated, ']'] : ['{', ...separated, '}']
}

/** The tokens with random white space around and between them. */
function spaced(random: Random, tokens: readonly string[]): string {
  const space = (): string =>
    Array.from({ length: random.below(3) }, () => random.pick([' ', '\t', '\n', '\r'])).join('')
  return tokens.map((token) => space() + token).join('') + space()
}

t.test('texts that differ only in white space are equal, and other texts are not', (t) => {
  const random = seededRandom(t)
  let bytesChanged = 0
  for (let round = 0; round < 2000; round++) {
    const tokens = valueTokens(random, 4)
    const text = spaced(random, tokens)
    if (!same(text, spaced(random, tokens)) || !same(text, tokens.join(''))) t.fail(`${text}: other white space`)
    const compact = Buffer.from(tokens.join(''))
    const changed = Buffer.from(compact)
    const index = random.below(changed.length)
    changed[index] = random.pick([...Buffer.from('xX01-"\\[]{},:')])
    if (changed.equals(compact)) continue
    bytesChanged++
    if (areSameTokens(Buffer.from(text), changed) || areSameTokens(changed, Buffer.from(text)))
      t.fail(`${text}: byte ${index} changed: ${changed}`)
  }
  t.ok(bytesChanged > 1000, `${bytesChanged} bytes were changed`)
  t.end()
})

t.test('an additional or missing token, or a space in a string, changes the text', (t) => {
  const random = seededRandom(t)
  for (let round = 0; round < 1000; round++) {
    const tokens = valueTokens(random, 4)
    const text = spaced(random, tokens)
    const index = random.below(tokens.length)
    const without = tokens.filter((_, i) => i !== index)
    if (same(text, spaced(random, without))) t.fail(`${text}: without token ${index}`)
    const token = at(tokens, index)
    if (!token.startsWith('"')) continue
    const longer = [...tokens.slice(0, index), token.replace('"', '" '), ...tokens.slice(index + 1)]
    if (same(text, spaced(random, longer))) t.fail(`${text}: with a space in string ${index}`)
  }
  t.end()
})

t.test('a value padded with white space is compared without the padding, and its strings keep their spaces', (t) => {
  const padding = ' '.repeat(100_000)
  const value = new ValueText(Buffer.from(`[${padding}1,${padding}"a  \\"  b"${padding}]`))
  t.ok(value.bytes < 100, `${value.bytes} bytes are left`)
  t.ok(value.is(Buffer.from('[1,"a  \\"  b"]')))
  t.ok(value.is(Buffer.from('[ 1 , "a  \\"  b" ]')))
  t.notOk(value.is(Buffer.from('[1,"a \\"  b"]')))
  t.notOk(value.is(Buffer.from('[1]')))
  const dense = new ValueText(Buffer.from(`"${padding}"`))
  t.ok(dense.is(Buffer.from(`"${padding}"`)), 'a long string of spaces is itself')
  t.notOk(dense.is(Buffer.from(`"${padding} "`)))
  t.end()
})
