/** Numbers, durations and times as text, with as many digits as a person compares. */

export const unknown = '–'

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** Three significant digits, and all before the point. */
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

/** A short duration: of an answer, a commit, a delay. */
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

/** A long duration: an age, or what is left, in its largest units. */
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

/** How long ago that is, to the largest unit. @param iso ISO 8601 */
export function agoText(iso: string, nowMs: number): string {
  const seconds = (nowMs - Date.parse(iso)) / 1000
  return seconds < 2 ? 'just now' : `${formatSpan(seconds, 1)} ago`
}

/** As `agoText`, of a time that is stored once a minute. @param iso ISO 8601 */
export function minutesAgoText(iso: string, nowMs: number): string {
  return nowMs - Date.parse(iso) < 60_000 ? 'in the last minute' : agoText(iso, nowMs)
}

/** As the user's clock shows it. @param epochS seconds since the epoch */
export function formatClock(epochS: number, withSeconds = true): string {
  return new Date(epochS * 1000).toLocaleTimeString('sv').slice(0, withSeconds ? undefined : 5)
}

/** To the minute. @param iso ISO 8601 */
export function utcText(iso: string): string {
  return `${new Date(iso).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

export const timeZone = new Intl.DateTimeFormat().resolvedOptions().timeZone

/** To the minute. @param epochS seconds since the epoch */
export function formatTime(epochS: number): string {
  // Swedish dates are those of ISO 8601.
  return new Date(epochS * 1000).toLocaleString('sv').slice(0, 16)
}

/** By the user's clock, with the date unless that is today's. @param iso ISO 8601 */
export function timeText(iso: string, now = new Date()): string {
  const time = new Date(iso)
  return time.toDateString() === now.toDateString() ? time.toLocaleTimeString('sv') : time.toLocaleString('sv')
}
