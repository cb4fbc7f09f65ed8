/**
 * REMOVAL expressions: which are valid, the problems of invalid ones, and when a topic is due.
 */
import t from 'tap'
import {
  removalBytesMax,
  removalConditionsMax,
  removalDepthMax,
  removalParenthesesMax,
  removalPeriodMsMax,
  removalTimeMsMax,
} from '../../dist/settings/limits.js'
import { removalOf } from '../../dist/topics/properties.js'
import { parseRemoval } from '../../dist/topics/removal/parser.js'
import { dueMs, type RemovalPolicy, tracksUpdates } from '../../dist/topics/removal/policy.js'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const createdMs = 1_700_000_000_000
const updatedMs = createdMs + 5 * minute

function policyOf(text: string): RemovalPolicy {
  const policy = parseRemoval(text)
  if ('problem' in policy) throw new Error(`${text}: ${policy.problem}`)
  return policy
}

function due(text: string): number {
  return dueMs(policyOf(text), createdMs, updatedMs)
}

/** The longest problem that a response repeats in full, in UTF-16 units, as in src/api/problems.ts. */
const problemMax = 200

function problemOf(text: string): string {
  const policy = parseRemoval(text)
  if (!('problem' in policy)) throw new Error(`no problem: ${text.slice(0, 200)}`)
  if (policy.problem.length > problemMax) throw new Error(`the response would shorten: ${policy.problem}`)
  return policy.problem
}

t.test('a period in any unit counts from the last update', async (t) => {
  t.equal(due('when no updates for 2s'), updatedMs + 2 * second)
  t.equal(due('when no updates for 20m'), updatedMs + 20 * minute)
  t.equal(due('when no updates for 3h'), updatedMs + 3 * hour)
  t.equal(due('when no updates for 7d'), updatedMs + 7 * day)
  t.equal(dueMs(policyOf('when no updates for 2s'), createdMs, createdMs), createdMs + 2 * second, 'never updated')
})

t.test('"after" delays the start of the idle period', async (t) => {
  t.equal(due('when no updates for 15m after 1d'), createdMs + day + 15 * minute)
  t.equal(due('when no updates for 15m after 1m'), updatedMs + 15 * minute, 'an update after the grace period counts')
  t.equal(due('when no updates for 15m after 5m'), updatedMs + 15 * minute, 'an update at that end also counts')
})

t.test('a creation time in the future does not delay an idle period without "after"', async (t) => {
  t.equal(dueMs(policyOf('when no updates for 2s'), updatedMs + 365 * day, updatedMs), updatedMs + 2 * second)
})

t.test('"time after" is due one millisecond after the given time', async (t) => {
  t.equal(due('when time after 1518780068112'), 1518780068113)
  t.equal(due('when time after 0'), 1)
  t.equal(due(`when time after ${removalTimeMsMax}`), removalTimeMsMax + 1)
})

t.test("dates are parsed like Java's RFC 1123 dates", async (t) => {
  const noon = Date.UTC(2018, 5, 3, 12)
  for (const date of [
    'Sun, 3 Jun 2018 12:00:00 GMT',
    '3 Jun 2018 12:00:00 GMT',
    'Sun, 3 Jun 2018 12:00 GMT',
    'sun, 3 JUN 2018 12:00:00 gmt',
    'Sun, 3 Jun 2018 13:30:00 +0130',
    'Mon, 4 Jun 2018 02:00:00 +1400',
  ]) {
    t.equal(due(`when time after '${date}'`), noon + 1, date)
    t.equal(due(`when time after "${date}"`), noon + 1, date)
  }
  t.equal(due("when time after 'Tue, 4 May 2077 11:05:30 GMT'"), Date.UTC(2077, 4, 4, 11, 5, 30) + 1)
  t.equal(due("when time after '29 Feb 2024 00:00 GMT'"), Date.UTC(2024, 1, 29) + 1, 'a leap day')
  t.equal(due("when time after '1 Jan 1970 00:00 GMT'"), 1)
  t.equal(due("when time after '31 Dec 9999 23:59:59 GMT'"), removalTimeMsMax - 999 + 1)
})

t.test('an invalid date is rejected with the reason', async (t) => {
  const form = /expected a date such as 'Sun, 3 Jun 2018 11:05:30 GMT' \(GMT or an offset such as \+0100\)$/
  for (const [date, problem] of [
    ['Tue, 3 Jun 2018 11:05:30 GMT', /that day is a Sunday$/],
    ['29 Feb 2023 00:00 GMT', /no such day in the calendar$/],
    ['0 Jun 2018 00:00 GMT', /no such day in the calendar$/],
    ['3 Foo 2018 00:00 GMT', /no such day in the calendar$/],
    ['3 Jun 2018 24:00 GMT', /no such time of day$/],
    ['3 Jun 2018 11:05:30 +2400', /no such offset$/],
    ['31 Dec 1969 23:59:59 GMT', /must be in the years 1970 to 9999/],
    ['1 Jan 1970 00:59:59 +0100', /must be in the years 1970 to 9999/],
    ['3 Jun 18 11:05:30 GMT', form],
    ['Sun 3 Jun 2018 11:05:30 GMT', form],
    ['3 Jun 2018 11:05:30 UTC', form],
    ['3 Jun 2018 11:05:30 +01:00', form],
    ['2018-06-03T11:05:30Z', form],
    [' 3 Jun 2018 11:05:30 GMT', form],
  ] as const) {
    t.match(problemOf(`when time after '${date}'`), problem, date)
  }
})

t.test('"and" waits for the last condition, "or" for the first, and "and" binds tighter', async (t) => {
  const time = updatedMs + hour
  t.equal(due(`when time after ${time} and no updates for 1m`), time + 1)
  t.equal(due(`when time after ${time} and no updates for 1d`), updatedMs + day)
  t.equal(due(`when time after ${time} or no updates for 1m`), updatedMs + minute)
  t.equal(due(`when time after ${time} or no updates for 1d`), time + 1)
  t.equal(due(`when no updates for 1m or no updates for 1d and time after ${time}`), updatedMs + minute)
  t.equal(due(`when time after ${time} and no updates for 1d or no updates for 1m`), updatedMs + minute)
  t.equal(due(`when (no updates for 1m or no updates for 1d) and time after ${time}`), time + 1)
  t.equal(due(`when time after ${time} and (no updates for 1d or no updates for 1m)`), time + 1)
})

t.test('only policies with a condition on updates need to track updates', async (t) => {
  t.equal(tracksUpdates(policyOf('when time after 5')), false)
  t.equal(tracksUpdates(policyOf('when time after 5 and (time after 6 or time after 7)')), false)
  t.equal(tracksUpdates(policyOf('when no updates for 1s')), true)
  t.equal(tracksUpdates(policyOf('when time after 5 and (time after 6 or no updates for 1s)')), true)
})

t.test('keywords may have any case, and white space any length', async (t) => {
  const plain = policyOf("when no updates for 1m after 1h and (time after 5) remove '*a//'")
  t.same(policyOf("WHEN No UPDATES fOr 1m AFTER 1h AND(TIME After 5)Remove'*a//'"), plain)
  t.same(policyOf(" \t\r\nwhen\u00a0no\nupdates  for\t1m after 1h and ( time after 5 )  remove  '*a//' \n"), plain)
})

t.test('the selector of a remove clause is parsed without its quotes and escapes', async (t) => {
  for (const [clause, selector] of [
    ["remove '*alpha/beta//'", '*alpha/beta//'],
    ['remove "*alpha/beta//"', '*alpha/beta//'],
    [`remove "it's"`, "it's"],
    [`remove 'say "so"'`, 'say "so"'],
    [String.raw`remove 'it\'s'`, "it's"],
    [String.raw`remove "say \"so\""`, 'say "so"'],
    [String.raw`remove 'say \"so\"'`, 'say "so"'],
    [String.raw`remove '?a/\\d+/\\\\//'`, String.raw`?a/\d+/\\//`],
    [String.raw`remove '\\'`, '\\'],
    ["remove '>räksmörgås/😀'", '>räksmörgås/😀'],
    ["remove 'when (and or) remove'", 'when (and or) remove'],
    ["remove ''", ''],
    ['', undefined],
  ] as const) {
    t.equal(policyOf(`when no updates for 1m ${clause}`).selector, selector, clause)
  }
})

t.test('conditions on sessions and subscriptions are rejected as unsupported', async (t) => {
  const refused =
    /^has a syntax error at character \d+, near "[^"]+": conditions on sessions and subscriptions are not supported; use "time after" or "no updates for"$/
  for (const condition of [
    'subscriptions < 1 for 10m',
    'Subscriptions<1 for 20m after 1h',
    `no session has '$Principal is "client"' for 1h`,
    'no sessions',
    'this session closes',
  ]) {
    t.match(problemOf(`when ${condition}`), refused, condition)
    t.match(problemOf(`when no updates for 1m and (time after 5 or ${condition})`), refused, condition)
  }
})

t.test('the error for an invalid policy names the character, the text there and the expected text', async (t) => {
  const when = 'expected "when", as in "when no updates for 10m"'
  const condition = 'expected "time after", "no updates for" or "("'
  const joint = 'expected "and", "or", "remove" or the end'
  const time = "expected milliseconds since 1970 or a quoted date such as 'Sun, 3 Jun 2018 11:05:30 GMT'"
  const period = 'expected a period such as 30s, 10m, 12h or 7d'
  const range = 'a period must be from 1s to 36500d'
  const unclosed = 'the quote is not closed'
  const backslash = 'within quotes, write a backslash as \\\\; \\ escapes only quotes and backslashes'
  const cases: readonly (readonly [text: string, at: number, near: string, problem: string])[] = [
    ['', 1, '', when],
    ['no updates for 1s', 1, 'no', when],
    ['whenno updates for 1s', 1, 'whenno', when],
    ['when', 5, '', condition],
    ['when ()', 7, ')', condition],
    ['when time after 5 and', 22, '', condition],
    ['when time after 5 or or time after 6', 22, 'or', condition],
    ['when time after 5 time after 6', 19, 'time', joint],
    ['when time after 5 && time after 6', 19, '&&', joint],
    ['when (time after 5', 19, '', 'expected "and", "or" or ")"'],
    ['when (time after 5 remove "a")', 20, 'remove', 'expected "and", "or" or ")"'],
    ['when time 5', 11, '5', 'expected "after"'],
    ['when time after', 16, '', time],
    ['when time after -5', 17, '-5', time],
    ['when no', 8, '', 'expected "updates"'],
    ['when no updates 5m', 17, '5m', 'expected "for"'],
    ['when no updates for', 20, '', period],
    ['when no updates for 10 m', 21, '10', period],
    ['when no updates for 5M', 21, '5M', period],
    ['when no updates for 1.5h', 21, '1.5h', period],
    ['when no updates for 0s', 21, '0s', range],
    ['when no updates for 5m after', 29, '', period],
    ['when no updates for 5m after 1518780068112', 30, '1518780068112', period],
    ['when no updates for 5m remove *a//', 31, '*a//', 'expected a selector in quotes'],
    ['when no updates for 5m remove "a" and time after 5', 35, 'and', 'expected the end'],
    [`when no updates for 5m remove "a'`, 31, `"a'`, unclosed],
    ['when no updates for 5m remove "?\\d//"', 33, '\\d//"', backslash],
    ["when no updates' for 5m", 16, "' for 5m", unclosed],
    [`when (no updates for 1m) 😀 '\ud800`, 26, '😀', joint],
    [`when \ud800`, 6, '\ufffd', condition],
    [`when ${'😀'.repeat(17)}`, 6, `${'😀'.repeat(16)}…`, condition],
  ]
  for (const [text, at, near, problem] of cases) {
    const place = `at character ${at}, ${near === '' ? 'at the end' : `near "${near}"`}`
    t.equal(problemOf(text), `has a syntax error ${place}: ${problem}`, text)
  }
})

t.test('the lengths of periods and the years of times are limited', async (t) => {
  const days = removalPeriodMsMax / day
  t.equal(due(`when no updates for ${days}d after ${days * 24}h`), createdMs + 2 * removalPeriodMsMax)
  t.match(problemOf(`when no updates for ${days + 1}d`), /a period must be from 1s to 36500d$/)
  t.match(problemOf(`when no updates for 1s after ${removalPeriodMsMax / second + 1}s`), /from 1s to 36500d$/)
  t.match(
    problemOf(`when no updates for ${'9'.repeat(400)}s`),
    /from 1s to 36500d$/,
    'a number beyond the largest double',
  )
  t.match(problemOf(`when time after ${removalTimeMsMax + 1}`), /must be in the years 1970 to 9999/)
  t.match(problemOf(`when time after ${'9'.repeat(400)}`), /must be in the years 1970 to 9999/)
})

t.test('the length of a policy is limited in bytes of UTF-8', async (t) => {
  const text = (bytes: number): string => {
    const head = "when no updates for 1s remove '"
    return `${head}${'é'.repeat((bytes - head.length - 2) >> 1)}${'x'.repeat((bytes - head.length) % 2)}x'`
  }
  t.equal(Buffer.byteLength(text(removalBytesMax)), removalBytesMax)
  t.equal(due(text(removalBytesMax)), updatedMs + second)
  t.equal(
    problemOf(text(removalBytesMax + 1)),
    `has ${removalBytesMax + 1} bytes of UTF-8; the limit is ${removalBytesMax}`,
  )
})

t.test('the number of conditions is limited, regardless of operators and nesting', async (t) => {
  for (const joint of [' and ', ' or ']) {
    const text = (count: number): string =>
      `when ${Array.from({ length: count }, () => 'no updates for 1s').join(joint)}`
    t.equal(due(text(removalConditionsMax)), updatedMs + second)
    t.match(
      problemOf(text(removalConditionsMax + 1)),
      new RegExp(`there are more than ${removalConditionsMax} conditions$`),
    )
  }
  const nested = `when (${Array.from({ length: removalConditionsMax }, () => 'time after 5').join(') and (')}) or time after 6`
  t.match(problemOf(nested), /more than \d+ conditions$/)
})

t.test('the nesting of parentheses is limited, and so is their number when a topic is created', async (t) => {
  const text = (depth: number): string => `when ${'('.repeat(depth)}time after 5${')'.repeat(depth)}`
  t.equal(due(text(removalDepthMax)), 6)
  t.match(
    problemOf(text(removalDepthMax + 1)),
    new RegExp(`parentheses must not be nested more than ${removalDepthMax} deep$`),
  )
  t.match(problemOf(`when ${'('.repeat(removalBytesMax - 5)}`), /must not be nested more than 16 deep$/)
  t.equal(due('when (time after 5) and (time after 6) and ((time after 7) or (time after 8))'), 8)
  const pairs = (count: number): string =>
    `when ${Array.from({ length: removalConditionsMax }, (_, i) => (i < count - removalConditionsMax ? '((time after 5))' : '(time after 5)')).join(' or ')}`
  t.equal(due(pairs(removalParenthesesMax)), 6)
  const tooMany = pairs(removalParenthesesMax).replace('((time after 5))', '(((time after 5)))')
  t.match(problemOf(tooMany), /there are more than 32 pairs of parentheses$/)
  t.ok(removalOf({ REMOVAL: tooMany }), 'a stored policy is not limited')
})
