/**
 * Dates in the form of Java's RFC_1123_DATE_TIME, which Diffusion's documentation refers to: the weekday and the
 * seconds are optional, and the zone is GMT or ±hhmm. Pure.
 */

export const dateExample = "'Sun, 3 Jun 2018 11:05:30 GMT'"

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

const minuteMs = 60_000

const dateForm =
  /^(?:(?<weekday>[a-z]{3}), )?(?<day>\d{1,2}) (?<month>[a-z]{3}) (?<year>\d{4}) (?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2}))? (?:GMT|(?<sign>[+-])(?<offsetHour>\d{2})(?<offsetMinute>\d{2}))$/i

/**
 * Parses a date. A weekday that does not match the date is an error: data will be removed at this date, so nothing is
 * guessed.
 *
 * @returns milliseconds since 1970, which may be negative; or what is wrong, as a clause
 */
export function parseDate(text: string): number | string {
  const fields = dateForm.exec(text)?.groups
  if (fields === undefined) return `expected a date such as ${dateExample} (GMT or an offset such as +0100)`
  const { weekday, month = '', sign } = fields
  const day = Number(fields.day)
  const monthIndex = months.indexOf(month.toLowerCase())
  // With setUTCFullYear, because Date.UTC maps the years 0 to 99 to 1900 to 1999.
  const date = new Date(0)
  date.setUTCFullYear(Number(fields.year), monthIndex, day)
  if (monthIndex < 0 || date.getUTCMonth() !== monthIndex || date.getUTCDate() !== day) {
    return 'there is no such day in the calendar'
  }
  const hour = Number(fields.hour)
  const minute = Number(fields.minute)
  const second = Number(fields.second ?? 0)
  if (hour > 23 || minute > 59 || second > 59) return 'there is no such time of day'
  const offsetHour = Number(fields.offsetHour ?? 0)
  const offsetMinute = Number(fields.offsetMinute ?? 0)
  if (offsetHour > 23 || offsetMinute > 59) return 'there is no such offset'
  const actual = weekdays[date.getUTCDay()] ?? ''
  if (weekday !== undefined && weekday.toLowerCase() !== actual.slice(0, 3).toLowerCase()) {
    return `that day is a ${actual}`
  }
  const local = date.setUTCHours(hour, minute, second)
  const offset = (offsetHour * 60 + offsetMinute) * minuteMs
  return sign === '-' ? local + offset : local - offset
}
