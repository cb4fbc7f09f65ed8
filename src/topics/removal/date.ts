/**
 * Dates in the form of Java's RFC_1123_DATE_TIME, to which Diffusion's documentation refers: the weekday and the
 * seconds are optional, and the zone is GMT or ±hhmm. Pure.
 */

export const dateExample = "'Sun, 3 Jun 2018 11:05:30 GMT'"

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const weekdayStarts = weekdays.map((name) => name.slice(0, 3).toLowerCase())
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** The calendar, weekdays included, repeats after a multiple of 400 years. */
const cycleYears = 2000
const cycleMs = 730_485 * dayMs

const epochWeekday = 4

/** Without groups: the comma and the space after the day give the positions of the parts. */
const dateForm = /^(?:[a-z]{3}, )?\d{1,2} [a-z]{3} \d{4} \d{2}:\d{2}(?::\d{2})? (?:GMT|[+-]\d{4})$/i

function numberAt(text: string, at: number, length: number): number {
  return Number(text.slice(at, at + length))
}

/**
 * A wrong weekday is an error: data will be removed on this date, so nothing is guessed.
 *
 * @returns milliseconds since 1970, which may be negative; or the problem, as a clause
 */
export function parseDate(text: string): number | string {
  if (!dateForm.test(text)) return `expected a date such as ${dateExample} (GMT or an offset such as +0100)`
  const dayAt = text[3] === ',' ? 5 : 0
  const monthAt = text.indexOf(' ', dayAt) + 1
  const day = numberAt(text, dayAt, monthAt - 1 - dayAt)
  const month = months.indexOf(text.slice(monthAt, monthAt + 3).toLowerCase())
  // Without the added years, Date.UTC would take 0 to 99 for 1900 to 1999.
  const year = numberAt(text, monthAt + 4, 4) + cycleYears
  const dateMs = Date.UTC(year, month, day)
  if (month < 0 || day < 1 || dateMs >= Date.UTC(year, month + 1)) return 'there is no such day in the calendar'
  const hour = numberAt(text, monthAt + 9, 2)
  const minute = numberAt(text, monthAt + 12, 2)
  const second = text[monthAt + 14] === ':' ? numberAt(text, monthAt + 15, 2) : 0
  if (hour > 23 || minute > 59 || second > 59) return 'there is no such time of day'
  const sign = text.at(-5)
  const hasOffset = sign === '+' || sign === '-'
  const offsetHour = hasOffset ? numberAt(text, text.length - 4, 2) : 0
  const offsetMinute = hasOffset ? numberAt(text, text.length - 2, 2) : 0
  if (offsetHour > 23 || offsetMinute > 59) return 'there is no such offset'
  const weekday = (dateMs / dayMs + epochWeekday) % 7
  if (dayAt > 0 && weekdayStarts.indexOf(text.slice(0, 3).toLowerCase()) !== weekday) {
    return `that day is a ${weekdays[weekday]}`
  }
  const minutes = hour * 60 + minute - (sign === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute)
  return dateMs - cycleMs + minutes * minuteMs + second * 1000
}
