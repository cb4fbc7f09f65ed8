/**
 * The cost of planning: a pattern is charged for its contents, the selectors of one request share a budget, and any selector
 * within the budget costs a bounded multiple of a plain selector in the same run.
 */
import t from 'tap'
import { parseSelector } from '../../dist/selectors/parse-selector.js'
import { Planner, planSelector } from '../../dist/selectors/planner.js'
import { PlanningBudget, TooCostly } from '../../dist/selectors/planning-budget.js'
import { planningUnitsMax, selectorBytesMax } from '../../dist/settings/limits.js'

/** The cost of a selector before its ranges are computed; Infinity if it exceeds the budget. */
function unitsOf(text: string): number {
  const budget = new PlanningBudget()
  try {
    parseSelector(text, budget)
    return planningUnitsMax - budget.remaining
  } catch (error) {
    if (error instanceof TooCostly) return Infinity
    throw error
  }
}

/** Selectors whose cost grows with `count`; without a budget, planning 8 KiB of the first took 6 s. */
const families: Readonly<Record<string, (count: number) => string>> = {
  'folded ranges': (n) => `*(?i)[${'a-\\x{10ffff}'.repeat(n)}]`,
  'folded classes': (n) => `*(?i)u[${'\\pL\\PN'.repeat(n)}]`,
  'small folded ranges': (n) => `*(?i)[${'Ͱ-Ͽ'.repeat(n)}]`,
  'classes in one': (n) => `*u[${'\\pL\\PN'.repeat(n)}]`,
  'classes in many': (n) => `*u${`[${'\\pL\\PN'.repeat(25)}]`.repeat(n)}`,
  'negated classes': (n) => `*u[^${'\\p{Cn}'.repeat(n)}]`,
  alternatives: (n) => `*${'\\pL|'.repeat(n)}x`,
  'repeated classes': (n) => `*[\\pL\\pN]{${n}}.+x`,
  'wide classes': (n) => `*${'[^a]'.repeat(n)}.`,
  'optional groups after ^': (n) =>
    `*^${Array.from({ length: n }, (_, i) => `(${String.fromCharCode(0x4e00 + i)})?`).join('')}$`,
  segments: (n) => `?${'[ab]{6}/'.repeat(n)}a`,
  ranges: (n) => `#${Array.from({ length: n }, (_, i) => `?a[ab]{6}${i}`).join('////')}`,
}

/** The largest selector of a family that is planned, and the next one, if it is short enough for a selector. */
function boundary(selectorOf: (count: number) => string): readonly [planned: string, refused: string | undefined] {
  const planned = (count: number): boolean => !('problem' in planSelector(selectorOf(count)))
  let low = 0
  let high = 1
  while (Buffer.byteLength(selectorOf(high)) <= selectorBytesMax && planned(high)) {
    low = high
    high *= 2
  }
  while (low + 1 < high) {
    const middle = (low + high) >> 1
    if (Buffer.byteLength(selectorOf(middle)) <= selectorBytesMax && planned(middle)) low = middle
    else high = middle
  }
  return [selectorOf(low), Buffer.byteLength(selectorOf(high)) <= selectorBytesMax ? selectorOf(high) : undefined]
}

function cpuMs(work: () => void): number {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

/** Parses and compiles a text without any cache; the minimum of three runs. */
function parsingMs(text: string): number {
  return Math.min(...Array.from({ length: 3 }, () => cpuMs(() => unitsOf(text))))
}

/** Plain patterns that take roughly as much CPU time as the budget allows. */
const plainTexts = Array.from({ length: 10 }, (_, i) =>
  `#${Array.from({ length: 500 }, (_, k) => `*line\\-${i}\\-${k}//`).join('////')}`.slice(0, selectorBytesMax),
)

t.test('planning or rejecting the most expensive selectors costs a bounded multiple of plain ones', async (t) => {
  for (const [name, selectorOf] of Object.entries(families)) {
    const [planned, refused] = boundary(selectorOf)
    const plainMs = Math.min(...Array.from({ length: 3 }, () => cpuMs(() => plainTexts.map(unitsOf))))
    for (const text of refused === undefined ? [planned] : [planned, refused]) {
      const ms = parsingMs(text)
      // At most 1.5 times was measured; without a budget it was 20 to 200 times, and no selector was rejected.
      t.ok(ms < 6 * plainMs, `${name} (${text.length}): ${ms.toFixed(1)} ms, plain ones ${plainMs.toFixed(1)} ms`)
    }
  }
})

t.test('the planning cost of a character class depends on its contents', async (t) => {
  const many = (text: string) => unitsOf(`*u[${text.repeat(10)}]`)
  t.ok(many('\\pL') > 50 * many('a'), 'a Unicode class')
  t.ok(many('\\PN') > 10 * many('a'), 'a negated class')
  t.ok(unitsOf('*(?i)u[\\pL]') > unitsOf('*u[\\pL]'), 'with folded case')
  t.ok(unitsOf('*(?i)[b-\\x{ffff}]') > 100 * unitsOf('*[b-\\x{ffff}]'), 'a range with folded case')
  t.ok(unitsOf('*u[\\pL]{500}.+x') > 20 * unitsOf('*u[\\pL].+x'), 'a repeated class')
})

t.test('a selector beyond the budget is rejected, and the error names the part that exceeds it', async (t) => {
  const refused: readonly (readonly [string, RegExp])[] = [
    [`*u${`[${'\\pL\\PN'.repeat(25)}]`.repeat(50)}`, /reached at the class "\\pL"$/],
    ['*(?i)[B-\\x{10ffff}b-\\x{10ffff}]', /reached at the class "\[B-\\x\{10ffff\}b-\\x\{10ffff\}\]"$/],
    ['*[\\pL\\pN]{1000}.+x', /reached at the size of its patterns and their classes, with repetitions expanded$/],
    [`?${'[ab]{6}/'.repeat(900)}a`, /reached at its literal prefixes$/],
    [`*${'[^a]'.repeat(900)}.`, /reached at its classes of all characters$/],
    [`#${Array.from({ length: 90 }, (_, i) => `?a[ab]{6}${i}`).join('////')}`, /reached at its key ranges$/],
  ]
  for (const [text, problem] of refused) {
    for (const round of ['first', 'from the cache'])
      t.match(planSelector(text), { problem }, `${text.slice(0, 20)}…, ${round}`)
  }
  t.match(planSelector(refused[0]?.[0] ?? ''), { problem: /^exceeds the planning limit of 250000 units, reached at / })
})

t.test('sets of 750 subtrees and patterns with many Unicode classes are within the planning budget', async (t) => {
  const subtrees = `#${Array.from({ length: 750 }, (_, i) => `*p${i}//`).join('////')}`.slice(0, selectorBytesMax)
  for (const text of [subtrees, `?${'[\\pL\\pN_-]+/'.repeat(20)}x`, '*(?i)[\\pL\\pN ]+/(a|b)+', '?[^x]{1,1000}y']) {
    t.notOk('problem' in planSelector(text), text.slice(0, 20))
  }
})

/** A path costs 70 units plus 2 per character. */
const pathOf = (length: number, name: number): string => `p${String(name).padStart(length - 1, '0')}`

t.test('selectors share a planning budget, and may use it to the last unit', async (t) => {
  for (const round of ['planned', 'from the cache']) {
    for (const [length, isPlanned] of [
      [90, true],
      [91, false],
    ] as const) {
      const planner = new Planner()
      const isRefused = Array.from({ length: 925 }, (_, i) => 'problem' in planner.plan(pathOf(100, i)))
      t.notOk(isRefused.includes(true), `925 paths of 270 units, ${round}`)
      t.notOk('problem' in planner.plan(pathOf(100, 0)), 'the same selector again costs nothing')
      const last = planner.plan(pathOf(length, 1))
      if (isPlanned) t.notOk('problem' in last, `250 more, ${round}`)
      else
        t.match(
          last,
          { problem: /^exceeds the planning limit of 250000 units together with the request's other selectors/ },
          `252, ${round}`,
        )
      t.notOk('problem' in planSelector(pathOf(length, 1)), 'the selector is planned on its own')
    }
  }
})
