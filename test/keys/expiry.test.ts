/** The expiry of a key or of a replaced token, in the notation of the command line. */
import t from 'tap'
import { parseExpiry, parseGrace, shownTime } from '../../dist/keys/expiry.js'
import { keyExpiresMsMax } from '../../dist/settings/limits.js'

const nowMs = Date.parse('2026-06-01T12:00:00Z')

const dayMs = 86_400_000

t.test('an expiry is given as a period, a day or a time in UTC', (t) => {
  for (const [text, endMs] of [
    ['90m', nowMs + 90 * 60_000],
    ['12h', nowMs + dayMs / 2],
    ['030d', nowMs + 30 * dayMs],
    ['2028-02-29', Date.UTC(2028, 1, 29)],
    ['2027-01-31T12:30Z', Date.UTC(2027, 0, 31, 12, 30)],
    ['2027-01-31T12:30:59Z', Date.UTC(2027, 0, 31, 12, 30, 59)],
    ['2026-06-01T12:00:00.001Z', nowMs + 1],
    ['9999-12-31T23:59:59.999Z', keyExpiresMsMax],
  ] as const) {
    t.equal(parseExpiry(text, nowMs), endMs, text)
  }
  t.equal(parseExpiry('1s', keyExpiresMsMax - 1000), keyExpiresMsMax, 'the latest expiry')
  t.end()
})

t.test('the error for any other expiry lists the allowed forms', (t) => {
  const form = /^must be a period such as 12h or 30d, or a UTC time such as 2027-01-31/
  const day = /^must be a valid date and time$/
  const future = /^must be in the future$/
  for (const [text, problem] of [
    ['', form],
    ['30', form],
    ['1.5d', form],
    ['30D', form],
    ['1w', form],
    ['tomorrow', form],
    ['27-01-31', form],
    ['2027-01-31T12:00:00+00:00', form],
    ['+010000-01-01T00:00:00Z', form],
    ['2027-02-29', day],
    ['2027-01-31T24:00:00Z', day],
    ['0s', future],
    ['2026-06-01T12:00:00Z', future],
    ['3000000d', /^must expire before the year 10000$/],
    [`${'9'.repeat(400)}d`, /^must expire before the year 10000$/],
  ] as const) {
    t.match(parseExpiry(text, nowMs), { problem }, text)
  }
  t.match(parseExpiry('1s', keyExpiresMsMax - 999), { problem: /before the year 10000/ }, 'a millisecond too late')
  t.end()
})

t.test('the grace of an old token is given as a period, which may be zero', (t) => {
  t.equal(parseGrace('0s', nowMs), 0)
  t.equal(parseGrace('0d', nowMs), 0)
  t.equal(parseGrace('1h', nowMs), 3_600_000)
  for (const text of ['', '1', '1H', '2027-01-31'])
    t.match(parseGrace(text, nowMs), { problem: /^must be a period such as/ }, text)
  t.match(parseGrace('3000000d', nowMs), { problem: /before the year 10000/ })
  t.equal(shownTime(nowMs + 7), '2026-06-01T12:00:00Z')
  t.end()
})
