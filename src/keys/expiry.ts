/** The expiry of an API key or a replaced token, as a person writes it: a period or a time. Pure. */
import { keyExpiresMsMax } from '../settings/limits.js'
import type { Problem } from '../settings/table.js'
import { parsePeriod } from '../topics/removal/period.js'
import type { KeyRecord, KeyRotation } from './record.js'
import { formerExpiresMs } from './rotation.js'

/** The time that a replaced token stays valid by default. */
export const graceDefault = '1h'

/** ISO 8601 in UTC: a time, or a day, which stands for its start. */
const timeForm = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z)?$/

const tooLate: Problem = { problem: 'must expire before the year 10000' }

/** @param text a period from now, or a time @returns Unix time in ms, later than `nowMs` */
export function parseExpiry(text: string, nowMs = Date.now()): number | Problem {
  const periodMs = parsePeriod(text)
  if (periodMs === undefined && !timeForm.test(text)) {
    return {
      problem: 'must be a period such as 12h or 30d, or a UTC time such as 2027-01-31 or 2027-01-31T12:00:00Z',
    }
  }
  const expiresMs = periodMs === undefined ? Date.parse(text) : nowMs + periodMs
  if (periodMs === undefined && !isInCalendar(text, expiresMs)) return { problem: 'must be a valid date and time' }
  if (expiresMs <= nowMs) return { problem: 'must be in the future' }
  return expiresMs <= keyExpiresMsMax ? expiresMs : tooLate
}

/** Rejects 30 February and 24:00, which Date.parse reads as times on a later day. */
function isInCalendar(text: string, ms: number): boolean {
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.slice(0, 10))
}

/** Returns the period in ms during which a replaced token stays valid; 0 for none. */
export function parseGrace(text: string, nowMs = Date.now()): number | Problem {
  const graceMs = parsePeriod(text)
  if (graceMs === undefined) return { problem: 'must be a period such as 10m, 12h or 7d, or 0s' }
  return nowMs + graceMs <= keyExpiresMsMax ? graceMs : tooLate
}

/** ISO 8601, to the second. */
export function shownTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** ISO 8601, to the millisecond. */
export function isoTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

/** Unix time in ms; undefined if no replaced token is still valid. */
export function oldTokenExpiresMs(key: KeyRecord<string>, nowMs = Date.now()): number | undefined {
  const expiresMs = formerExpiresMs(key)
  return expiresMs === undefined || expiresMs <= nowMs ? undefined : expiresMs
}

/** The rotation that gives the key this token, unless the key has expired. */
export function rotationTo(
  tokenHash: string,
  { name, tokenHash: formerHash, expiresMs = Infinity }: KeyRecord<string>,
  graceMs: number,
  nowMs = Date.now(),
): KeyRotation | Problem {
  if (expiresMs <= nowMs) {
    return {
      problem: `the key "${name}" expired at ${shownTime(expiresMs)}, so a new token would not be valid either; revoke the key and add it again`,
    }
  }
  return { name, tokenHash, formerHash, formerUntilMs: graceMs === 0 ? undefined : nowMs + graceMs }
}
