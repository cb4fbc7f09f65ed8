/**
 * Dates in the form of Java's RFC_1123_DATE_TIME, which Diffusion's documentation refers to: the weekday and the
 * seconds are optional, and the zone is GMT or ±hhmm. Pure.
 */

export const dateExample = "'Sun, 3 Jun 2018 11:05:30 GMT'"

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const weekdayStarts = weekdays.map((name) => name.slice(0, 3).toLowerCase())
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** The calendar repeats after this time, weekdays included; no year that is given is later. */
const cycleYears = 2000
const cycleMs = 730_485 * dayMs

/** The first day of 1970. */
const thursday = 4

const dateForm =
  /^(?:([a-z]{3}), )?(\d{1,2}) ([a-z]{3}) (\d{4}) (\d{2}):(\d{2})(?::(\d{2}))? (?:GMT|([+-])(\d{2})(\d{2}))$/i

/**
 * Parses a date. A weekday that does not match the date is an error: data will be removed at this date, so nothing is
 * guessed.
 *
 * @returns milliseconds since 1970, which may be negative; or what is wrong, as a clause
 */
export function parseDate(text: string): number | string {
  const parts = dateForm.exec(text)
  if (parts === null) return `expected a date such as ${dateExample} (GMT or an offset such as +0100)`
  const [, weekdayStart, , monthName = ''] = parts
  const number = (part: number): number => Number(parts[part] ?? 0)
  const day = number(2)
  const month = months.indexOf(monthName.toLowerCase())
  // Date.UTC takes the years 0 to 99 for 1900 to 1999.
  const year = number(4) + cycleYears
  const dateMs = Date.UTC(year, month, day)
  if (month < 0 || day < 1 || dateMs >= Date.UTC(year, month + 1)) return 'there is no such day in the calendar'
  const [hour, minute, second] = [number(5), number(6), number(7)]
  if (hour > 23 || minute > 59 || second > 59) return 'there is no such time of day'
  const [sign, offsetHour, offsetMinute] = [parts[8], number(9), number(10)]
  if (offsetHour > 23 || offsetMinute > 59) return 'there is no such offset'
  const weekday = (dateMs / dayMs + thursday) % 7
  if (weekdayStart !== undefined && weekdayStarts.indexOf(weekdayStart.toLowerCase()) !== weekday) {
    return `that day is a ${weekdays[weekday]}`
  }
  const minutes = hour * 60 + minute - (sign === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute)
  return dateMs - cycleMs + minutes * minuteMs + second * 1000
}
