/** Numbers, durations and times as text, with only as many digits as a person can compare. */

export const unknown = '–'

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** Rounds to three significant digits, but keeps all digits before the point. */
export function formatCount(value: number): string {
  return value >= 100 || value === 0 ? grouped.format(value) : String(Number(value.toPrecision(3)))
}

export const formatWhole = (value: number): string => grouped.format(value)

export const formatRate = (value: number): string => `${formatCount(value)}/s`

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

export function formatBytes(bytes: number): string {
  const power = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), byteUnits.length - 1)
  return `${formatCount(bytes / 1024 ** power)} ${byteUnits[power]}`
}

/** A short duration, such as the time of a response or a commit. */
export function formatSeconds(seconds: number): string {
  if (seconds === 0) return '0 ms'
  if (seconds < 0.001) return `${formatCount(seconds * 1e6)} µs`
  return seconds < 1 ? `${formatCount(seconds * 1000)} ms` : `${formatCount(seconds)} s`
}

const spans = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const

/** A long duration, such as an age or a remaining time, in its largest units. */
export function formatSpan(seconds: number, unitsMax = 2): string {
  const whole = Math.max(1, Math.floor(seconds))
  let rest = Math.max(0, Math.floor(seconds))
  const units = spans.slice(spans.findIndex(([length]) => whole >= length)).slice(0, unitsMax)
  const parts = units.map(([length, unit]) => {
    const count = Math.floor(rest / length)
    rest %= length
    return `${count} ${unit}`
  })
  return parts.join(' ')
}

/** The time elapsed since `iso`, in its largest unit. @param iso ISO 8601 */
export function agoText(iso: string, nowMs: number): string {
  const seconds = (nowMs - Date.parse(iso)) / 1000
  return seconds < 2 ? 'just now' : `${formatSpan(seconds, 1)} ago`
}

/** Like `agoText`, for a time that is stored once a minute. @param iso ISO 8601 */
export function minutesAgoText(iso: string, nowMs: number): string {
  return nowMs - Date.parse(iso) < 60_000 ? 'in the last minute' : agoText(iso, nowMs)
}

/** The user's local time of day. @param epochS Unix time in s */
export function formatClock(epochS: number, withSeconds = true): string {
  return new Date(epochS * 1000).toLocaleTimeString('sv').slice(0, withSeconds ? undefined : 5)
}

/** The UTC time to the minute. @param iso ISO 8601 */
export function utcText(iso: string): string {
  return `${new Date(iso).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

export const timeZone = new Intl.DateTimeFormat().resolvedOptions().timeZone

/** The user's local date and time to the minute. @param epochS Unix time in s */
export function formatTime(epochS: number): string {
  // Swedish dates have the form of ISO 8601.
  return new Date(epochS * 1000).toLocaleString('sv').slice(0, 16)
}

/** The user's local time, with the date unless it is today. @param iso ISO 8601 */
export function timeText(iso: string, now = new Date()): string {
  const time = new Date(iso)
  return time.toDateString() === now.toDateString() ? time.toLocaleTimeString('sv') : time.toLocaleString('sv')
}
