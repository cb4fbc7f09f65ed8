/** The parts of changes/ that need no store: tokens, the index of ranges, seats. */
import t from 'tap'
import { RangeIndex } from '../../dist/changes/range-index.js'
import { listenersOfKeyMax, Seats } from '../../dist/changes/seats.js'
import { decodeToken, encodeToken, tokenBytesMax } from '../../dist/changes/token.js'
import { pathBytesMax } from '../../dist/settings/limits.js'
import type { Path } from '../../dist/topics/path.js'
import { seededRandom } from '../support/random.js'
import { recordMaps } from '../support/recorded-maps.js'

t.test('a token is decoded to its position, and no other string is a token', async (t) => {
  // As long as the tokens of version 1.0.0 on PostgreSQL, whose places the store reports as gone.
  const place = Buffer.alloc(1024, 7)
  const walk = { id: Buffer.from('12345678'), after: 'ü'.repeat(pathBytesMax / 2) as Path }
  for (const position of [
    { place, walk },
    { place, walk: undefined },
    { place: Buffer.alloc(0), walk: undefined },
  ]) {
    const token = encodeToken(position)
    t.ok(token.length <= tokenBytesMax, `${token.length} characters`)
    t.strictSame(decodeToken(token), position)
    const random = seededRandom(t)
    for (let i = 0; i < 200; i++) {
      const at = random.below(token.length)
      const other = token.slice(0, at) + random.pick(['A', 'b', '-', '_', '=', ' ', 'é', '']) + token.slice(at + 1)
      if (other !== token) t.equal(decodeToken(other), undefined, other)
    }
  }
  for (const text of ['', 'A', 'AQAA', '====', '\0', 'now']) t.equal(decodeToken(text), undefined)
})

t.test('the index finds the same values for a key as a linear search', async (t) => {
  const random = seededRandom(t)
  const index = new RangeIndex<number>()
  const all = new Map<number, readonly { readonly start: string; readonly end: string }[]>()
  const text = (): string =>
    Array.from({ length: 1 + random.below(3) }, () => random.pick(['a', 'b', '\xff', '\0'])).join('')
  let next = 0
  for (let i = 0; i < 5000; i++) {
    if (random.oneIn(3) && all.size > 0) {
      const gone = random.pick([...all.keys()])
      all.delete(gone)
      index.remove(gone)
    } else {
      const bounds = [...new Set(Array.from({ length: 2 * random.below(3) }, text))].sort()
      const ranges = []
      for (let at = 0; at + 1 < bounds.length; at += 2)
        ranges.push({ start: bounds[at] ?? '', end: bounds[at + 1] ?? '' })
      all.set(next, ranges)
      index.add(ranges, next++)
    }
    const key = text()
    const found: number[] = []
    index.visit(key, (value) => found.push(value) > 0)
    const expected = [...all].filter(([, ranges]) => ranges.some(({ start, end }) => start <= key && key < end))
    t.strictSame(
      found.sort((a, b) => a - b),
      expected.map(([value]) => value),
    )
    if (all.size > 300) for (const value of all.keys()) if (all.delete(value)) index.remove(value)
  }
})

t.test('the index keeps no values that were removed before a search', async (t) => {
  const index = new RangeIndex<number>()
  index.add([{ start: 'a', end: 'b' }], -1)
  let most = 0
  for (let i = 0; i < 1000; i++) {
    index.add([{ start: 'a', end: 'c' }], i)
    index.remove(i)
    most = Math.max(most, index.heldRanges)
  }
  t.ok(most < 200, `${most} ranges at most`)
  const found: number[] = []
  index.visit('a', (value) => found.push(value) > 0)
  t.strictSame(found, [-1])
})

t.test('the index finds a value with many ranges for the keys in these ranges and for no others', async (t) => {
  const index = new RangeIndex<string>()
  const ranges = Array.from({ length: 65 }, (_, i) => ({ start: `k${100 + 2 * i}`, end: `k${101 + 2 * i}` }))
  index.add(ranges, 'many')
  const found: string[] = []
  for (const key of ['k099', 'k100', 'k101', 'k228', 'k229']) index.visit(key, () => found.push(key) > 0)
  t.strictSame(found, ['k100', 'k101', 'k228'])
})

t.test('the number of seats is limited for each kind of listener and for each key', async (t) => {
  const seats = new Seats(2)
  const leave = seats.take('stream', 'a')
  t.ok(leave)
  t.ok(seats.take('stream', 'a'))
  t.equal(seats.take('stream', 'b'), undefined, 'one too many')
  t.ok(seats.take('poll', 'b'), 'a seat of the other kind')
  leave?.()
  leave?.()
  t.equal(seats.taken('stream'), 1, 'a seat is returned only once')
  t.ok(seats.take('stream', 'b'))
  const many = new Seats(10 * listenersOfKeyMax)
  for (let i = 0; i < listenersOfKeyMax; i++) many.take(i % 2 === 0 ? 'poll' : 'stream', 'one')
  t.equal(many.take('stream', 'one'), undefined, 'one too many for a key')
  t.ok(many.take('stream', 'other'))
})

t.test("a key's count of seats is dropped when the key leaves its last seat", (t) => {
  const maps = recordMaps(t, (key) => /^key \d$/.test(String(key)))
  const seats = new Seats(100)
  const leave = Array.from({ length: 20 }, (_, i) => seats.take('poll', `key ${i % 10}`))
  const counts = (): readonly number[] => [...maps].map(({ size }) => size)
  t.strictSame(counts(), [10])
  for (const leaveOne of leave) leaveOne?.()
  t.strictSame(counts(), [0], 'no count is left')
  t.end()
})
