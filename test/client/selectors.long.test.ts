/**
 * The client's selectors match exactly the paths that they name, with any characters. If the client matches a selector
 * itself, the result is the same as the service's.
 */
import t from 'tap'
import { matchesOf } from '../../dist/client/changes/matches.js'
import { anyOf, descendants, subtree, topic } from '../../dist/client/selectors.js'
import { planSelector } from '../../dist/selectors/planner.js'
import { pathBytesMax } from '../../dist/settings/limits.js'
import { type Path, parsePath } from '../../dist/topics/path.js'
import { randomSelector, randomPath as simplePath } from '../support/models/selectors.js'
import { type Random, seededRandom } from '../support/random.js'
import { isSelected } from '../support/stores/store.js'

/** Pieces of segments: everything with a meaning in a selector or pattern, and other characters. */
const pieces = [
  ...'\\^$.*+?()[]{}|',
  ...'#>&%<-,:!=~"\'` \n\t\r\x7f\x01',
  ...['\\Q', '\\E', '\\', '\\d', '\\x41', '(?i)', '(?=', '[^', 'a{2}', '[[:alpha:]]', '\\pL', '^a$', '.*', '*a', '?a'],
  ...['a', 'A', 'b', 'E', 'Q', '0', 'é', 'e\u0301', 'ß', '\u2028', '\ue000', '\ufeff', '\uffff', '😀', '𝔸', 'ſ', 'K'],
]

function randomPath(random: Random): Path {
  const segment = () => Array.from({ length: 1 + random.below(4) }, () => random.pick(pieces)).join('')
  return Array.from({ length: 1 + random.below(4) }, segment).join('/') as Path
}

/** Similar paths that a badly quoted selector could match. */
function neighbours(random: Random, path: Path): readonly string[] {
  const segments = path.split('/')
  const at = random.below(path.length)
  return [
    path,
    `${path}/${random.pick(pieces)}`,
    `${path}/x/${random.pick(pieces)}`,
    `${path}${random.pick(pieces)}`,
    segments.slice(0, -1).join('/'),
    path.slice(0, at) + path.slice(at + 1),
    path.slice(0, at) + random.pick(pieces) + path.slice(at + 1),
    path.replaceAll('/', random.pick(pieces)),
    path.replaceAll('\\', ''),
    path.replaceAll('\\', '\\\\'),
    path.replace(/[^\w/]/g, '\\$&'),
    `\\Q${path}\\E`,
    path.toUpperCase(),
    path.toLowerCase(),
    path.normalize('NFD'),
    `>${path}`,
    ...[topic(path), subtree(path), descendants(path)].map((selector) => selector.replace(/^[?>]|\/+$/g, '')),
    ...segments,
    ...pieces,
  ].filter((text) => parsePath(text) === text)
}

const isBelow = (path: string, ancestor: string): boolean => path.startsWith(`${ancestor}/`)

t.test('topic(), subtree() and descendants() select exactly their topics, with any characters', (t) => {
  const random = seededRandom(t)
  let selected = 0
  for (let round = 0; round < 1_000; round++) {
    const path = randomPath(random)
    for (const other of [...neighbours(random, path), randomPath(random)]) {
      const expected = [other === path, other === path || isBelow(other, path), isBelow(other, path)]
      const found = [topic(path), subtree(path), descendants(path)].map((selector) => isSelected(selector, other))
      selected += found.filter(Boolean).length
      if (String(found) !== String(expected)) {
        t.fail(`${JSON.stringify(path)} and ${JSON.stringify(other)}: ${found}, expected ${expected}`)
      }
    }
  }
  t.ok(selected > 3_000, `${selected} selections`)
  t.end()
})

t.test('anyOf() selects exactly the paths that at least one member selects, even if one is an anyOf()', (t) => {
  const random = seededRandom(t)
  for (let round = 0; round < 300; round++) {
    const members = Array.from({ length: 1 + random.below(4) }, () => {
      const path = randomPath(random)
      return { path, selector: random.pick([topic, subtree, descendants, () => `/${path}/`])(path) }
    })
    const [first = '', ...others] = members.map(({ selector }) => selector)
    const set = anyOf(anyOf(first, ...others), first)
    for (const other of members.flatMap(({ path }) => neighbours(random, path))) {
      const expected = [first, ...others].some((selector) => isSelected(selector, other))
      if (isSelected(set, other) !== expected) t.fail(`${JSON.stringify(set)} and ${JSON.stringify(other)}`)
    }
  }
  t.end()
})

t.test('the longest paths are selected, even if quoting doubles every character', (t) => {
  const longest = ['.'.repeat(pathBytesMax), '\\'.repeat(pathBytesMax), `${'a/'.repeat(pathBytesMax / 2 - 1)}ab`]
  for (const path of longest) {
    t.equal(Buffer.byteLength(path), pathBytesMax)
    for (const select of [topic, subtree]) {
      t.ok(isSelected(select(path), path))
      t.notOk(isSelected(select(path), path.slice(0, -1)))
    }
    t.notOk(isSelected(descendants(path), path))
  }
  t.end()
})

t.test('a slash at either end is ignored, and an empty segment is rejected', (t) => {
  for (const select of [topic, subtree, descendants]) {
    t.equal(select('/a/b/'), select('a/b'))
    for (const path of ['', '/', '//', '//a', 'a//', 'a//b', '///']) t.throws(() => select(path), RangeError, path)
  }
  t.end()
})

/** A random selector, mostly of a form that the client can match. */
function decidable(random: Random): string {
  const names = String.raw`a b ab . .* .+ a.* .*b a.b [^/]* [^/]+ \. \Qa.b\E \Qa/b\E \Qa`.split(' ')
  const odd = [...String.raw`a* a? (a) ^a a$ .*? .+a.+b.+ \E \d { ] \ 😀`.split(' '), '', '\ud800', '\0', '\n']
  const piece = () => random.pick(random.oneIn(30) ? odd : names)
  const segment = () => (random.oneIn(5) ? piece() + piece() : piece())
  const body = Array.from({ length: 1 + random.below(3) }, segment).join('/')
  const kind = random.pick(['', '>', '?', '?', '?', '*', '*', '*', '?/', '*/', '$'])
  const member = kind + body + random.pick(['', '', '/', '//'])
  return random.oneIn(4) ? `#${member}////${decidable(random)}` : member
}

t.test('the client and the service select the same paths for a selector', (t) => {
  const random = seededRandom(t)
  const paths = [
    'a',
    'b',
    'ab',
    'a.b',
    'a/b',
    'a/a.b',
    'ab/a/b',
    '.',
    'a/.',
    '\n',
    'a/\n/b',
    '😀',
    '\\',
    '.*/a',
    'a/.*/b/c',
  ]
  let decided = 0
  let matched = 0
  for (let round = 0; round < 3_000; round++) {
    const selector = random.oneIn(4) ? randomSelector(random) : decidable(random)
    const matches = matchesOf(selector)
    if (matches === undefined || 'problem' in planSelector(selector)) continue
    decided++
    const literal = selector.replace(/^[#>?*]+|\/+$/g, '')
    const others = [...paths, literal, `${literal}/x`, simplePath(random), simplePath(random), randomPath(random)]
    const [first = '', ...members] = matches.selectors
    const union = anyOf(first, ...members)
    for (const path of others.filter((text) => parsePath(text) === text)) {
      const expected = isSelected(selector, path)
      if (expected) matched++
      if (matches.test(path) !== expected)
        t.fail(`${JSON.stringify(selector)} and ${JSON.stringify(path)}: ${!expected}`)
      if (isSelected(union, path) !== expected)
        t.fail(`${JSON.stringify(union)}, of ${JSON.stringify(selector)}, and ${JSON.stringify(path)}`)
    }
  }
  t.ok(decided > 600 && matched > 600, `${decided} selectors, ${matched} matches`)
  t.end()
})

t.test('the client can match paths to the selectors that it builds and to common patterns', (t) => {
  const own = [topic('a.b'), subtree('a/b'), descendants('a'), anyOf('a', '*b//')]
  const usual = ['*.*', '?.*//', '*plant/.*', '*.*temp.*', '?a/.*/temp']
  for (const selector of [...own, ...usual]) t.ok(matchesOf(selector), selector)
  for (const selector of ['*(a|b)', '?a/[0-9]+', '*.*a.*b.*c']) t.notOk(matchesOf(selector), selector)
  t.end()
})
