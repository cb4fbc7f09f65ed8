/**
 * Selectors for paths as they are, whatever characters they contain. Pure; what a selector is, the service decides.
 *
 * A subtree is written `?segment/segment//`, not `*path//`: that form also takes its text literally, so that any
 * quoting in it would itself be a path that it selects.
 */

/** Selects the topic at this path alone. */
export function topic(path: string): string {
  return `>${segmentsOf(path).join('/')}`
}

/** Selects the topic at this path and everything below it. */
export function subtree(path: string): string {
  return `${descendants(path)}/`
}

/** Selects everything below this path, but not the topic at it. */
export function descendants(path: string): string {
  return `?${segmentsOf(path).map(quoted).join('/')}/`
}

/** Selects what any of these selectors selects; there must be at least one. */
export function anyOf(...selectors: readonly [string, ...string[]]): string {
  // The separator's last four slashes count, so a slash after it would be read as part of the selector before it.
  return `#${selectors.map((selector) => (selector.startsWith('/') ? `>${selector}` : selector)).join('////')}`
}

/**
 * The segments of a path; one leading and one trailing slash are dropped, as the service does.
 *
 * @throws RangeError for an empty segment, which in a pattern could have another meaning
 */
export function segmentsOf(path: string): readonly string[] {
  const from = path.startsWith('/') ? 1 : 0
  const segments = path.slice(from, path.length > from && path.endsWith('/') ? -1 : undefined).split('/')
  if (segments.includes('')) throw new RangeError(`the path ${JSON.stringify(path)} has an empty segment`)
  return segments
}

/** A regular expression that matches this text alone. */
export function quoted(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
