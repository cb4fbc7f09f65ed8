/** Downloads a file that the page has created. Nothing is sent anywhere. */

/** The browser may take this long to begin; the file is in memory until then. */
const keptMs = 60_000

/** @param parts of its text, so that a long one is not joined first */
export function download(name: string, type: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), keptMs)
}

/** By the user's clock: `NAME-20300101-120000.END`. */
export function fileName(name: string, end: string): string {
  // Swedish dates are those of ISO 8601.
  const time = new Date().toLocaleString('sv').replaceAll(/[-:]/g, '').replace(' ', '-')
  return `${name}-${time}.${end}`
}
