/**
 * Selectors are parsed into values; the problem of an invalid selector includes the position of the wrong character.
 */
import t from 'tap'
import { parseSelector as parseWithin } from '../../dist/selectors/parse-selector.js'
import { planSelector } from '../../dist/selectors/planner.js'
import { PlanningBudget } from '../../dist/selectors/planning-budget.js'
import {
  enginesSizeMax,
  groupDepthMax,
  linearSizeMax,
  patternSizeMax,
  repeatMax,
  selectorBytesMax,
  selectorEnginesMax,
} from '../../dist/settings/limits.js'

function parseSelector(text: string): ReturnType<typeof parseWithin> {
  return parseWithin(text, new PlanningBudget())
}

function sourceOf(text: string): unknown {
  const selector = parseSelector(text)
  return 'problem' in selector ? selector.problem : outline(selector)
}

/** A selector with the source text of each pattern. */
function outline(selector: Exclude<ReturnType<typeof parseWithin>, { problem: string }>): unknown {
  switch (selector.kind) {
    case 'path':
      return selector.path
    case 'split-path':
      return { split: selector.segments.map(({ source }) => source), scope: selector.scope }
    case 'full-path':
      return { full: selector.pattern?.source, literal: selector.literal, scope: selector.scope }
    case 'set':
      return selector.members.map(outline)
    default:
      return selector satisfies never
  }
}

t.test('each form of selector is parsed into its value', async (t) => {
  const forms: readonly (readonly [string, unknown])[] = [
    ['a/b', 'a/b'],
    ['>a/b', 'a/b'],
    ['/a/b/', 'a/b'],
    ['>/a/', 'a'],
    ['>>a', '>a'],
    ['?a/b', { split: ['a', 'b'], scope: 'self' }],
    ['?a/b/', { split: ['a', 'b'], scope: 'descendants' }],
    ['?a/b//', { split: ['a', 'b'], scope: 'subtree' }],
    ['*a/b', { full: 'a/b', literal: undefined, scope: 'self' }],
    ['*a+b/', { full: 'a+b', literal: undefined, scope: 'descendants' }],
    ['*a+b//', { full: 'a+b', literal: 'a+b', scope: 'subtree' }],
    ['*a(b//', { full: undefined, literal: 'a(b', scope: 'subtree' }],
    ['*a{2,1}//', { full: undefined, literal: 'a{2,1}', scope: 'subtree' }],
    ['*a//b', { full: 'a//b', literal: undefined, scope: 'self' }],
    ['*\\Qa//', { full: '\\Qa\\E', literal: '\\Qa', scope: 'subtree' }],
  ]
  for (const [text, value] of forms) t.same(sourceOf(text), value, text)
})

t.test('a set is split at the last four of a run of slashes', async (t) => {
  const split = (segment: string, scope: string) => ({ split: [segment], scope })
  const sets: readonly (readonly [string, unknown])[] = [
    ['#a', ['a']],
    ['#a////b', ['a', 'b']],
    ['#a/////b', ['a', 'b']],
    ['#?a////?b', [split('a', 'self'), split('b', 'self')]],
    ['#?a/////?b', [split('a', 'descendants'), split('b', 'self')]],
    ['#?a//////?b', [split('a', 'subtree'), split('b', 'self')]],
    ['##a////#b', ['a', 'b']],
    ['#a////>b////*c', ['a', 'b', { full: 'c', literal: undefined, scope: 'self' }]],
  ]
  for (const [text, value] of sets) t.same(sourceOf(text), value, text)
})

t.test('a quotation continues across the slashes of a split path', async (t) => {
  const quoted: readonly (readonly [string, readonly string[]])[] = [
    ['?\\Qa+\\E/b', ['\\Qa+\\E', 'b']],
    ['?\\Qa+/b+\\E/c+', ['\\Qa+\\E', '\\Qb+\\E', 'c+']],
    ['?\\Qa/b', ['\\Qa\\E', '\\Qb\\E']],
    ['?\\\\Q/a', ['\\\\Q', 'a']],
  ]
  for (const [text, split] of quoted) t.same(sourceOf(text), { split, scope: 'self' }, text)
})

t.test('the error for an invalid selector gives the position of the invalid character', async (t) => {
  const problems: readonly (readonly [string, RegExp])[] = [
    ['', /^is empty; /],
    ['?', /^has an empty pattern after "\?" at character 2; /],
    ['*', /^has an empty pattern after "\*" at character 2; /],
    ['>', /^has no valid path at character 2; it is empty/],
    ['a//b', /^has no valid path at character 1; it has an empty segment/],
    [
      'a/b//',
      /^is a path that ends in "\/\/" at character 4; to select a topic and its descendants, write "\*path\/\/"$/,
    ],
    ['a\0', /^has no valid path at character 1; it contains the character U\+0000/],
    ['$a', /^begins with "\$" at character 1; /],
    ['?a//b', /^has an empty segment at character 4; /],
    ['?a/(b', /^has a syntax error at character 4: unclosed group; /],
    ['?a/b)', /^has a syntax error at character 5: unmatched "\)"; /],
    ['?a/[b', /^has a syntax error at character 4: class without a closing "]"; /],
    ['?[^/]+', /^has a syntax error at character 2: class without a closing "]"; each segment between slashes /],
    ['?é😀/+', /^has a syntax error at character 5: nothing to repeat before "\+"; /],
    ['?a**', /^has a syntax error at character 4: repetition of a repetition; /],
    ['?a{2,1}', /^has a syntax error at character 3: repetition \{2,1\} with its bounds in reverse order; /],
    ['?[b-a]', /^has a syntax error at character 2: class range in reverse order; /],
    ['?a\\', /^has a syntax error at character 3: backslash with nothing after it; /],
    ['?a\\y', /^has a syntax error at character 3: unknown escape "\\y"; /],
    ['?a\\pX', /^has a syntax error at character 3: unknown class \\pX; /],
    ['?[[:no:]]', /^has a syntax error at character 3: unknown class \[\[:no:\]\]; /],
    ['?(?x)a', /^has a syntax error at character 2: unknown group "\(\?x"; /],
    ['?(?<n>a)(?<n>b)', /^has a syntax error at character 9: duplicate group name "n"; /],
    ['*a(b', /at character 3: unclosed group; to quote a path, write \\Q…\\E$/],
    ['*+', /^has a syntax error at character 2: nothing to repeat before "\+"; /],
    ['*a//(b//', /^has a syntax error at character 5: unclosed group; write a regular expression or a path$/],
    ['#a////*a(b', /^has a syntax error at character 9: unclosed group; /],
    ['#', /^has an empty member at character 2; /],
    ['#a////', /^has an empty member at character 7; /],
    ['#a////?b(', /^has a syntax error at character 9: unclosed group; /],
    ['*\ud800', /^contains a lone surrogate/],
  ]
  for (const [text, problem] of problems) {
    const name = JSON.stringify(text)
    t.match(parseSelector(text), { problem }, name)
    t.match(planSelector(text), { problem }, `${name}, planned`)
    t.match(planSelector(text), { problem }, `${name}, planned again`)
  }
})

t.test('constructs that cannot run in linear time are rejected in every form, and the error names them', async (t) => {
  const constructs: readonly (readonly [string, string])[] = [
    ['(?=b)', 'look-ahead "(?="'],
    ['(?!b)', 'look-ahead "(?!"'],
    ['(?<=b)', 'look-behind "(?<="'],
    ['(?<!b)', 'look-behind "(?<!"'],
    ['(?>b)', 'atomic group "(?>"'],
    ['(?(1)b)', 'conditional group "(?("'],
    ['(b)\\1', 'back-reference "\\1"'],
    ['(?<n>b)\\k<n>', 'back-reference "\\k"'],
    ['[a-z&&[^b]]', 'class intersection "&&["'],
  ]
  for (const [construct, name] of constructs) {
    const problem = `${name}, which the linear-time engine does not support`
    for (const form of ['?a', '?x/a', '*a', '#x////?a']) {
      const text = form + construct
      const at = form.length + 1 + construct.indexOf(name.slice(name.indexOf('"') + 1, -1))
      const found = parseSelector(text)
      const expected = `has an unsupported pattern at character ${at}: ${problem}`
      t.ok('problem' in found && found.problem.startsWith(expected), text)
    }
  }
  t.notOk('problem' in parseSelector('*\\Q(?=b)\\E//'), 'a quoted construct is plain text')
})

t.test('a selector at each limit is accepted, and one beyond the limit is rejected', async (t) => {
  const refused = (text: string, problem: RegExp) =>
    t.match(parseSelector(text), { problem }, `${text.slice(0, 20)}… rejected`)
  const allowed = (text: string) => t.notOk('problem' in parseSelector(text), `${text.slice(0, 20)}… allowed`)
  const nested = (depth: number) => `?${'('.repeat(depth)}a${')'.repeat(depth)}`
  allowed(nested(groupDepthMax))
  refused(nested(groupDepthMax + 1), /groups nested more than 100 deep/)
  allowed(`?a{${repeatMax}}.`)
  refused(`?a{${repeatMax + 1}}.`, /repetition \{1001\}; the limit is 1000/)
  allowed(`?${'a'.repeat(patternSizeMax)}`)
  refused(`?${'a'.repeat(patternSizeMax + 1)}`, /size 2001 with repetitions expanded; the limit is 2000/)
  allowed(`?${'a'.repeat(enginesSizeMax - 2)}[b-z]+`)
  refused(`?${'a'.repeat(enginesSizeMax - 1)}[b-z]+`, /^has 1 regular expressions with a total size of 1201; /)
  allowed(`?${'a'.repeat(linearSizeMax - 6)}(b|c)*`)
  refused(
    `?${'a'.repeat(linearSizeMax - 5)}(b|c)*`,
    /regular expressions with a total size of 601; the limit for those is 600$/,
  )
  const engines = (count: number) => `#${Array.from({ length: count }, (_, i) => `?a${i}[^b]`).join('////')}`
  allowed(engines(selectorEnginesMax))
  refused(engines(selectorEnginesMax + 1), /^has 33 regular expressions/)
  const members = (bytes: number) => `#${'abc////'.repeat(2000).slice(0, bytes - 2)}x`
  allowed(members(selectorBytesMax))
  refused(members(selectorBytesMax + 1), /^has 8193 bytes of UTF-8; the limit is 8192$/)
  refused(`é${'a'.repeat(selectorBytesMax - 1)}`, /^has 8193 bytes of UTF-8/)
})
