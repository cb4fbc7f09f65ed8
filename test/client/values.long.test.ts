/**
 * The JSON text of a value in a request: the output of JSON.stringify, but integers with every digit, and an error that
 * names the place of a value that JSON cannot hold.
 */
import t from 'tap'
import { connect, jsonText, type Operation } from '../../dist/client/index.js'
import { type Random, seededRandom } from '../support/random.js'
import { startServer } from '../support/service/server.js'

/** The body of the last request. */
let sent = ''
const topics = connect('http://127.0.0.1', {
  key: 'k',
  fetch: async (_, init) => {
    sent = String(init?.body)
    return new Response('{"path":"a","type":"json","created":true,"results":[{"path":"a"}]}')
  },
})

/** The JSON text of a value in a request. */
async function textOf(value: unknown): Promise<string> {
  await topics.set('a', value)
  return sent.slice('{"path":"a","value":'.length, -1)
}

class Celsius {
  readonly #degrees: number
  readonly unit = 'C'
  constructor(degrees: number) {
    this.#degrees = degrees
  }
  toJSON(name: string) {
    return { degrees: this.#degrees, unit: this.unit, name }
  }
}

const leaves: readonly (() => unknown)[] = [
  ...[null, true, 0, -0, 1e21, 5e-324, 0.1, -1.5, '', 'é😀', '"\\\u0000\u2028', '\ud800'].map((leaf) => () => leaf),
  ...[() => new Date(0), () => new Date(Number.NaN), () => new Celsius(3), () => Object(1.5), () => Object('x')],
  ...[() => Object(false), () => new Map([[1, 2]]), () => [], () => ({}), () => ({ toJSON: () => 2 })],
]

/** A random object or array of such leaves, including members that JSON.stringify omits. */
function randomValue(random: Random, depth: number): unknown {
  if (depth === 0 || random.below(3) === 0) return random.pick(leaves)()
  const parts = Array.from({ length: random.below(4) }, () => randomValue(random, depth - 1))
  if (random.below(2) === 0) return parts
  const names = ['a', '2', '1', '__proto__', 'é', '"', 'toString']
  const value: Record<string, unknown> = Object.create(random.pick([null, Object.prototype, { inherited: 1 }]))
  for (const part of parts)
    Object.defineProperty(value, random.pick(names), { value: part, enumerable: true, configurable: true })
  if (random.below(3) === 0) Object.assign(value, { none: undefined, gone: { toJSON: () => undefined }, [Symbol()]: 1 })
  return value
}

t.test('random values are sent as JSON.stringify writes them', async (t) => {
  const random = seededRandom(t)
  for (let round = 0; round < 3_000; round++) {
    const value = randomValue(random, 4)
    const expected = JSON.stringify(value)
    const found = await textOf(value)
    if (found !== expected) t.fail(`${found}, not ${expected}`)
  }
  const twice = { a: 1 }
  t.equal(
    await textOf([twice, twice, { twice }]),
    '[{"a":1},{"a":1},{"twice":{"a":1}}]',
    'a shared value is not a cycle',
  )
})

t.test('integers too large for a double are sent with every digit, at any depth', async (t) => {
  const big = 12345678901234567890n
  t.equal(await textOf(big), '12345678901234567890')
  t.equal(await textOf({ a: [-(10n ** 40n), Object(7n)], b: 0n }), `{"a":[-1${'0'.repeat(40)},7],"b":0}`)
  const server = await startServer(t)
  const real = connect(server.url, { key: server.token })
  await real.addAndSet('big', [big])
  t.equal((await real.get('big'))?.text, '[12345678901234567890]')
  await real.set('big', 'found', { constraint: { value: [big] } })
  t.equal((await real.get('big'))?.value, 'found', 'a constraint compares every digit')
})

t.test('a JSON text is sent verbatim, even as part of a value', async (t) => {
  t.equal(await textOf(jsonText('1.10')), '1.10')
  t.equal(await textOf({ a: [jsonText('1.10'), 2] }), '{"a":[1.10,2]}')
  for (const text of ['{"a":1,}', '']) t.throws(() => jsonText(text), SyntaxError)
  t.throws(() => JSON.stringify({ a: jsonText('1.10') }), TypeError, 'JSON.stringify throws')
})

const cyclic: { a: unknown[] } = { a: [] }
cyclic.a.push({ b: cyclic })
const itself: unknown[] = []
itself.push(itself)

t.test('a value that JSON cannot hold is not sent and causes an error that names its place', async (t) => {
  for (const [value, problem] of [
    [undefined, 'value is undefined'],
    [Number.NaN, 'value is NaN'],
    [{ readings: [1, 2, 3, Number.NaN] }, 'value.readings[3] is NaN'],
    [[Infinity], 'value[0] is Infinity'],
    [{ 'a b': { é: -Infinity } }, 'value["a b"].é is -Infinity'],
    [[1, undefined], 'value[1] is undefined'],
    // biome-ignore lint/suspicious/noSparseArray: the test needs a hole
    [[1, , 3], 'value[1] is undefined'],
    [() => 1, 'value is a function'],
    [{ a: () => 1 }, 'value.a is a function'],
    [[Symbol('s')], 'value[0] is a symbol'],
    [Object(Number.NaN), 'value is NaN'],
    [{ a: { toJSON: () => Number.NaN } }, 'value.a is NaN'],
    [cyclic, 'value.a[0].b is value again'],
    [{ itself }, 'value.itself[0] is value.itself again'],
  ] as const) {
    sent = ''
    const expected = { name: 'TypeError', message: `${problem}, which JSON cannot hold` }
    await t.rejects(topics.set('a', value), expected, problem)
    t.equal(sent, '')
  }
})

t.test('every method names the place of a value that JSON cannot hold', async (t) => {
  const operation: Operation = { op: 'set', path: 'a', value: 1 }
  const wrong = { a: Number.NaN }
  const places: readonly (readonly [() => Promise<unknown>, string])[] = [
    [() => topics.addAndSet('a', wrong), 'value.a'],
    [() => topics.set('a', 1, { constraint: { value: wrong } }), 'constraint.value.a'],
    [() => topics.batch([operation, { ...operation, value: wrong }]), 'operations[1].value.a'],
    [() => topics.batch([{ ...operation, constraint: { value: wrong } }]), 'operations[0].constraint.value.a'],
    [() => topics.page('a', { size: Number.NaN }), 'size'],
    [() => topics.update('a', () => wrong), 'value.a'],
  ]
  for (const [request, place] of places)
    await t.rejects(request, { name: 'TypeError', message: `${place} is NaN, which JSON cannot hold` }, place)
})

t.test('a value nested 1,000 levels deep is sent', async (t) => {
  let value: unknown = []
  for (let level = 1; level < 1_000; level++) value = [value]
  t.equal(await textOf(value), JSON.stringify(value))
})
