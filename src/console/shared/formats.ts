/** Numbers, durations and times as text, with as many digits as a person compares. */

export const unknown = '–'

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** Three significant digits, and all before the point. */
function threeDigits(value: number): string {
  if (value >= 100 || value === 0) return grouped.format(value)
  return String(Number(value.toPrecision(3)))
}

export const formatCount = (value: number): string => threeDigits(value)

export const formatWhole = (value: number): string => grouped.format(value)

export const formatRate = (value: number): string => `${threeDigits(value)}/s`

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < byteUnits.length - 1) {
    value /= 1024
    unit++
  }
  return `${threeDigits(value)} ${byteUnits[unit]}`
}

/** A short duration: of an answer, a commit, a delay. */
export function formatSeconds(seconds: number): string {
  if (seconds === 0) return '0 ms'
  if (seconds < 0.001) return `${threeDigits(seconds * 1e6)} µs`
  return seconds < 1 ? `${threeDigits(seconds * 1000)} ms` : `${threeDigits(seconds)} s`
}

const minuteS = 60
const hourS = 60 * minuteS
const dayS = 24 * hourS

/** A long duration: an age, or what is left, in its two largest units. */
export function formatSpan(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds))
  if (s < minuteS) return `${s} s`
  if (s < hourS) return `${Math.floor(s / minuteS)} min ${s % minuteS} s`
  if (s < dayS) return `${Math.floor(s / hourS)} h ${Math.floor((s % hourS) / minuteS)} min`
  return `${Math.floor(s / dayS)} d ${Math.floor((s % dayS) / hourS)} h`
}

/** As the user's clock shows it. @param epochS seconds since the epoch */
export function formatClock(epochS: number, withSeconds = true): string {
  return new Date(epochS * 1000).toLocaleTimeString('sv').slice(0, withSeconds ? undefined : 5)
}

export const timeZone = new Intl.DateTimeFormat().resolvedOptions().timeZone

/** To the minute. @param epochS seconds since the epoch */
export function formatTime(epochS: number): string {
  // Swedish dates are those of ISO 8601.
  return new Date(epochS * 1000).toLocaleString('sv').slice(0, 16)
}
