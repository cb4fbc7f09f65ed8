/**
 * The matches of random selectors over random trees, compared with a naive reference. The scan is simulated as a store runs it:
 * over sorted keys, range by range, following the matcher's seeks. docs/documents has the table of examples.
 */

import { RE2JS, RE2JSException } from 're2js'
import t from 'tap'
import { harmlessExpression, linearTest, type Pattern, readPattern } from '../../dist/selectors/pattern/pattern.js'
import type { Plan } from '../../dist/selectors/plan.js'
import { planSelector } from '../../dist/selectors/planner.js'
import { PlanningBudget } from '../../dist/selectors/planning-budget.js'
import { encodeKey } from '../../dist/topics/key.js'
import { at } from '../support/elements.js'
import { matcherOf } from '../support/models/model.js'
import { randomPath, randomSelector } from '../support/models/selectors.js'
import { seededRandom } from '../support/random.js'
import { endlessSlice } from '../support/slices.js'
import { planned } from '../support/stores/store.js'

/** Paths in the order of their keys. */
class Tree {
  readonly paths: readonly string[]
  private readonly keys: readonly Buffer[]

  constructor(paths: Iterable<string>) {
    const entries = [...new Set(paths)].map((path) => ({ path, key: encodeKey(path) }))
    entries.sort((a, b) => Buffer.compare(a.key, b.key))
    this.paths = entries.map(({ path }) => path)
    this.keys = entries.map(({ key }) => key)
  }

  /** Runs a plan as a store does; throws if ranges are out of order or a seek leads backwards. */
  scan({ ranges, matcher }: Plan): string[] {
    const found: string[] = []
    let last: Buffer = Buffer.alloc(0)
    for (const { start, end } of ranges) {
      if (Buffer.compare(last, start) > 0 || Buffer.compare(start, end) >= 0) throw new Error('ranges are out of order')
      last = end
      let from: Buffer = start
      for (const [i, key] of this.keys.entries()) {
        if (Buffer.compare(key, from) < 0 || Buffer.compare(key, end) >= 0) continue
        const answer = matcher === undefined || matcher(at(this.paths, i), endlessSlice)
        if (answer === true) found.push(at(this.paths, i))
        if (typeof answer === 'boolean') continue
        if (Buffer.compare(answer, key) <= 0) throw new Error(`a seek at ${this.paths[i]} leads backwards`)
        from = answer
      }
    }
    return found
  }
}

t.test('*path// finds the topic and its descendants, even if the path is not a valid pattern', async (t) => {
  const unusual = ['\n', ...'a+b ? * ** {2} a|b ^ $ . c++ x{2,1} é 😀 >a #a %a'.split(' ')]
  const broken = ['a(b', '[', ')', '(?', '[[:x:]]', 'Q\\', '\\Q', '\\E', 'a\\', '\\p{Nope}', 'C:\\Users\\x']
  const paths = [...unusual, ...broken].flatMap((path) => [path, `x/${path}`, `${path}/x/y/z`])
  const tree = new Tree(paths.flatMap((path) => [path, `${path}/x`, `${path}/x/y`]))
  for (const path of paths) {
    const found = tree.scan(planned(`*${path}//`))
    for (const wanted of [path, `${path}/x`, `${path}/x/y`]) t.ok(found.includes(wanted), JSON.stringify(wanted))
  }
})

t.test('a random selector finds the same matches as the reference implementation, in order', async (t) => {
  const random = seededRandom(t)
  let matches = 0
  for (let round = 0; round < 4; round++) {
    const paths = Array.from({ length: 1500 }, () => randomPath(random))
    const tree = new Tree(paths)
    for (let i = 0; i < 150; i++) {
      const text = randomSelector(random)
      const reference = matcherOf(text)
      const found = tree.scan(planned(text))
      const wanted = tree.paths.filter(reference)
      matches += found.length
      if (found.join('\n') === wanted.join('\n')) continue
      const wrong = [...found.filter((path) => !reference(path)), ...wanted.filter((path) => !found.includes(path))]
      return void t.fail(`${JSON.stringify(text)} is wrong about ${JSON.stringify(wrong.slice(0, 5))}`)
    }
  }
  t.ok(matches > 1000, `${matches} matches`)
})

/** The pattern of a source text; undefined if it has a problem. */
function pattern(text: string): Pattern | undefined {
  const read = readPattern(text, { remainingSize: 8192, planning: new PlanningBudget() })
  return 'problem' in read ? undefined : read
}

t.test('anchors at the start and end of a pattern do not change its matches', async (t) => {
  const tree = new Tree(['a', 'a/1', 'a/1/x', 'a/12/x/y', 'a/x', 'b/1', 'b/1/x', 'A/1', 'A/1/x'])
  const same = [
    ['a/\\d+', '^a/\\d+$', 'a/\\d+\\z', '(^a/\\d+$)', '\\Aa/(\\d+$)', '(?m)a/\\d+$', '(?m)^a/\\d+$'],
    ['(?i)a/1', '(?i)^a/1$', '(?i)a/1\\z', '(?i:^a/1$)', '^(?i)a/1$$'],
    ['(a|b)/1', '^(a|b)/1$', '^a/1$|^b/1$', '(^a|^b)/(1$)', '(a/1|b/1$)'],
    ['a/.*', '^a/.*$', 'a/.*$'],
    ['a(/\\d+)?', 'a(/\\d+$)?', '^a(/\\d+$)?'],
    ['a/.+x', '^a/.+x$', 'a/.+(x$|x)'],
  ]
  for (const [plain = '', ...anchored] of same) {
    for (const tail of ['', '/', '//']) {
      const expected = tree.scan(planned(`*${plain}${tail}`))
      for (const pattern of anchored) t.same(tree.scan(planned(`*${pattern}${tail}`)), expected, `*${pattern}${tail}`)
    }
  }
  t.equal(pattern('^a.b$')?.engine?.isLinear, false, 'anchors do not need the linear-time engine')
})

t.test('a `$` is rejected before the end of the pattern, unless the selector is a path', async (t) => {
  const problem = (selector: string) => {
    const plan = planSelector(selector)
    return 'problem' in plan ? plan.problem : undefined
  }
  t.match(problem('*US$rates/'), /^has a syntax error at character 4: "\$" before the end of the pattern; /)
  t.match(problem('*(a\\z)*//'), /^has an unsupported pattern at character 4: "\\z" before the end of the pattern; /)
  t.equal(problem('*US$rates'), undefined, 'a whole path has only one end')
  t.equal(problem('*(?m)a$\nb/'), undefined, 'a line may end anywhere')
})

t.test('the built-in engine finds the same matches as the linear-time engine', async (t) => {
  const random = seededRandom(t)
  const classes = ['[ab]', '[^a]', '\\d', '\\D', '\\w', '\\W', '\\s', '\\S', '[\\w-]', '[^\\d/]', '[😀-😂]', '[\\s\\S]']
  const single = ['a', 'b', '.', '/', 'é', '😀', '\\.', '\\x{1f600}', '\\t', ...classes]
  const repeats = ['', '', '', '*', '+', '?', '{2}', '{1,3}', '{2,}', '*?', '{0}']
  const texts = ['', 'a', '\n', '\v', '\u2028', '\u00a0', 'K', '\u212a', 'ſ', '_', '0', '٣']
  const parts = ['a', 'b', '1', '-', '.', '/', 'é', '😀', '😁', '\n', '\t', 'x/y']
  for (let i = 0; i < 300; i++)
    texts.push(Array.from({ length: 1 + random.below(5) }, () => random.pick(parts)).join(''))
  let compared = 0
  for (let i = 0; i < 300; i++) {
    const atoms = Array.from({ length: 1 + random.below(4) }, () => random.pick(single) + random.pick(repeats))
    const source = atoms.join('')
    const read = pattern(source)
    if (read === undefined) return void t.fail(`${source} is rejected`)
    for (const scope of ['self', 'descendants', 'subtree'] as const) {
      const harmless = harmlessExpression(read, scope)
      if (harmless === undefined) continue
      const linear = linearTest(read, scope)
      if ('refusal' in linear) return void t.fail(`${source}: ${linear.refusal}`)
      for (const text of texts) {
        compared++
        if (harmless.test(text) !== linear(text)) return void t.fail(`${source} (${scope}) on ${JSON.stringify(text)}`)
      }
    }
  }
  t.ok(compared > 10_000, `${compared} comparisons`)
})

t.test('the parser accepts the patterns that the engine accepts, except for listed restrictions', async (t) => {
  const random = seededRandom(t)
  const groups = ['(', ')', '(?:', '(?i)', '(?s:', '(?P<n>', '(?<m>', '(?', '-s', ':', '|']
  const repetitions = ['*', '+', '?', '{2}', '{1,2}', '{,2}', '{2,1}', '{', '}']
  const classes = ['[', ']', '[^', '-', '.', '[:alpha:]', '[:no:]', '[:', ':]', '\\d', '\\pL', '\\p{Greek}', '\\p{']
  const escapes = ['\\', '\\Q', '\\E', '\\x41', '\\x{', '\\07', '\\z', '\\b', '\\_', '\\é', '\\n', '\\C']
  const tokens = ['a', 'b', 'é', '😀', '_', '^', '$', ...groups, ...repetitions, ...classes, ...escapes]
  let accepted = 0
  for (let i = 0; i < 5000; i++) {
    const text = Array.from({ length: 1 + random.below(6) }, () => random.pick(tokens)).join('')
    const read = readPattern(text, { remainingSize: 8192, planning: new PlanningBudget() })
    if ('problem' in read && read.refused) continue
    let error: unknown
    try {
      RE2JS.compile(text)
      accepted++
    } catch (thrown) {
      if (!(thrown instanceof RE2JSException)) throw thrown
      error = thrown.message
    }
    const problem = 'problem' in read ? read.problem : undefined
    if ((problem === undefined) !== (error === undefined))
      return void t.fail(`${text}: read: ${problem}; engine: ${error}`)
  }
  t.ok(accepted > 750, `${accepted} of 5000 are patterns`)
})
