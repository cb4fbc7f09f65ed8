/** Downloads of files that the page created. Nothing is sent anywhere. */

/** The time that the file stays in memory, in ms, so that the browser can start the download. */
const keptMs = 60_000

/** @param parts the pieces of the file's text, so that long text need not be joined first */
export function download(name: string, type: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), keptMs)
}

/** A file name with the user's local time: `NAME-20300101-120000.END`. */
export function fileName(name: string, end: string): string {
  // Swedish dates have the form of ISO 8601.
  const time = new Date().toLocaleString('sv').replaceAll(/[-:]/g, '').replace(' ', '-')
  return `${name}-${time}.${end}`
}
