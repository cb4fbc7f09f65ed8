/**
 * Keys: byte order is topic tree order, a key decodes to its path, and a range contains exactly the topics of its kind.
 */

import t from 'tap'
import { compareBytes } from '../../dist/selectors/pattern/prefixes.js'
import { pathBytesMax } from '../../dist/settings/limits.js'
import { decodeKey, encodeKey, writeKey } from '../../dist/topics/key.js'
import { type Path, parsePath } from '../../dist/topics/path.js'
import * as range from '../../dist/topics/range.js'
import { at } from '../support/elements.js'
import { treeOrder } from '../support/models/model.js'
import { type Random, seededRandom } from '../support/random.js'

const ascii = ['a', 'b', '+', '.', '-', '!', ' ', '~', '\x01', '\x7f']
const alphabet = [...ascii, 'é', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10ffff}']

function randomPath(random: Random): Path {
  const segments = Array.from({ length: 1 + random.below(5) }, () =>
    Array.from({ length: 1 + random.below(3) }, () => random.pick(alphabet)).join(''),
  )
  return segments.join('/') as Path
}

const holds = ({ start, end }: range.KeyRange, key: Buffer) =>
  Buffer.compare(start, key) <= 0 && Buffer.compare(key, end) < 0

t.test('a topic sorts before its descendants, which sort before its next sibling', async (t) => {
  const paths = ['a', 'a/b', 'a/c', 'a/c/x', 'a!', 'a-b', 'a.b', 'b']
  const sorted = [...paths]
    .reverse()
    .map(encodeKey)
    .sort(Buffer.compare)
    .map((key) => decodeKey(key))
  t.same(sorted, paths)
})

t.test('random keys sort in tree order and decode to their paths', async (t) => {
  const random = seededRandom(t)
  const paths = Array.from({ length: 3000 }, () => randomPath(random))
  const byKey = paths
    .map(encodeKey)
    .sort(Buffer.compare)
    .map((key) => decodeKey(key))
  t.same(byKey, [...paths].sort(treeOrder))
})

t.test('compareBytes compares strings by their UTF-8 bytes', async (t) => {
  const random = seededRandom(t)
  for (let i = 0; i < 5000; i++) {
    const [before, one, other] = [randomPath(random), randomPath(random), randomPath(random)]
    const found = compareBytes(before + one, before.length, before.length + one.length, other)
    const wanted = Buffer.compare(Buffer.from(one), Buffer.from(other))
    if (Math.sign(found) !== wanted) return void t.fail(`${JSON.stringify([one, other])}: ${found}, not ${wanted}`)
  }
  t.pass('5000 pairs')
})

t.test('writeKey writes the same key as encodeKey, at the given position', async (t) => {
  const random = seededRandom(t)
  const target = Buffer.alloc(4096)
  for (let i = 0; i < 1000; i++) {
    const path = randomPath(random)
    const position = random.below(100)
    const end = writeKey(path, target, position)
    if (!target.subarray(position, end).equals(encodeKey(path)))
      return void t.fail(`${JSON.stringify(path)} at ${position}`)
    if (decodeKey(target, position, end) !== path)
      return void t.fail(`${JSON.stringify(path)} read back from ${position}`)
  }
  t.pass('1000 paths')
})

t.test('a path may have the maximum length and not one byte more', async (t) => {
  for (const char of ['a', 'é', '😀']) {
    const width = Buffer.byteLength(char)
    const longest = char.repeat(Math.floor(pathBytesMax / width)) + 'x'.repeat(pathBytesMax % width)
    t.equal(parsePath(longest), longest)
    t.equal(parsePath(`/${longest}/`), longest, 'outer slashes are dropped and do not count')
    t.equal(encodeKey(longest).length, pathBytesMax)
    t.match(parsePath(`${longest}x`), {
      problem: `has ${pathBytesMax + 1} bytes of UTF-8; the limit is ${pathBytesMax}`,
    })
  }
})

t.test('invalid paths are rejected, and one outer slash on each side is dropped', async (t) => {
  for (const text of ['', '/', '//', 'a//b', '//a', 'a//', 'a\0b', '\0', '\ud800', 'a/\udc00b', 'é\0']) {
    t.type(parsePath(text), 'object', JSON.stringify(text))
  }
  for (const [text, path] of [
    ['/a/b/', 'a/b'],
    ['a/', 'a'],
    ['/a', 'a'],
    ['\uffff', '\uffff'],
  ] as const)
    t.equal(parsePath(text), path)
})

t.test('each range contains its topics and no others', async (t) => {
  const random = seededRandom(t)
  for (let i = 0; i < 3000; i++) {
    const path = randomPath(random)
    const other = random.oneIn(3) ? (`${path}/${randomPath(random)}` as Path) : randomPath(random)
    const key = encodeKey(other)
    const below = other.startsWith(`${path}/`)
    const found = [range.topicRange, range.descendantsRange, range.subtreeRange].map((make) => holds(make(path), key))
    const wanted = [other === path, below, below || other === path]
    if (found.join() !== wanted.join()) return void t.fail(`${JSON.stringify([path, other])}: ${found}, not ${wanted}`)
    if (!holds(range.everyTopic, key)) return void t.fail(`${JSON.stringify(other)} is not in everyTopic`)
  }
  t.pass('3000 pairs')
})

t.test('merged ranges contain the topics of either, and intersected ranges the topics of both', async (t) => {
  const random = seededRandom(t)
  const kinds = [range.topicRange, range.descendantsRange, range.subtreeRange]
  const randomRanges = () => Array.from({ length: random.below(5) }, () => random.pick(kinds)(randomPath(random)))
  for (let i = 0; i < 500; i++) {
    const [one, two] = [randomRanges(), randomRanges()]
    const [left, right] = [range.mergeRanges(one), range.mergeRanges(two)]
    const common = range.intersectRanges(left, right)
    const probes = [...one, ...two].flatMap(({ start, end }) => [start, end, range.keyAfter(start)])
    for (const key of [...probes, encodeKey(randomPath(random))]) {
      const inLeft = one.some((each) => holds(each, key))
      const inRight = two.some((each) => holds(each, key))
      if (left.some((each) => holds(each, key)) !== inLeft) return void t.fail(`merged: ${key.toString('hex')}`)
      if (common.some((each) => holds(each, key)) !== (inLeft && inRight))
        return void t.fail(`common: ${key.toString('hex')}`)
    }
    for (const ranges of [left, common]) {
      for (let j = 1; j < ranges.length; j++) {
        if (Buffer.compare(at(ranges, j - 1).end, at(ranges, j).start) > 0)
          return void t.fail('ranges overlap or are out of order')
      }
    }
  }
  t.pass('500 pairs of range lists')
})
