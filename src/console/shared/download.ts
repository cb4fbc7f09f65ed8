/** Gives someone a file that the page has made. Nothing is sent anywhere. */

/** For how long the browser may take to begin, in ms; the file is in memory until then. */
const keptMs = 60_000

/** @param parts its text, in pieces, so that a long one is not joined first */
export function download(name: string, type: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), keptMs)
}

/** A name for a file of now, by the clock of the person who gets it: `NAME-20300101-120000.END`. */
export function fileName(name: string, end: string): string {
  const now = new Date()
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join('')
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join('')
  return `${name}-${day}-${time}.${end}`
}
