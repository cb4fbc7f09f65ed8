/**
 * Selectors: for paths as they are, whatever characters they contain, and for patterns in the notations of other systems:
 * MQTT's topic filters, globs, SQL's LIKE, and a regular expression without the character that makes it a selector. To the
 * service most of those patterns are the path of one topic, so they match nothing. Pure; what a selector is, the service
 * decides.
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

/** Selects what any of these selectors selects. @throws RangeError without any */
export function anyOf(...selectors: readonly [string, ...string[]]): string {
  if (selectors.length === 0) throw new RangeError('anyOf needs at least one selector')
  // The separator's last four slashes count, so a slash after it would be read as part of the selector before it.
  return `#${selectors.map((selector) => (selector.startsWith('/') ? `>${selector}` : selector)).join('////')}`
}

/** Drops a slash at each end. @throws RangeError for an empty segment, which in a pattern could have another meaning */
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

interface Notation {
  /** Any number of characters of one segment. */
  readonly characters: string
  readonly character: string
}

/** In `?seg/seg`, where a regular expression never spans a slash. */
const inSegments: Notation = { characters: '.*', character: '.' }

/** In `*pattern`, where one spans slashes unless they are excluded. */
const inPath: Notation = { characters: '[^/]*', character: '[^/]' }

/** Selects every topic. */
export const everything = '?.*//'

/**
 * The selector that matches what a pattern with wildcards means: MQTT's `+` and `#`, a glob's `*`, `**` and `?`, LIKE's
 * `%` (and then `_`) at the start or end of a segment, or a regular expression such as `plant/.*`.
 *
 * A text with a level `+`, or `#` as its last, is a filter of MQTT, whose other levels are matched exactly.
 *
 * @returns undefined for a text without such wildcards, one that begins like a selector, or one that is in part another
 *   regular expression
 */
export function selectorFor(pattern: string): string | undefined {
  const path = pattern.replace(/^\/|\/$/g, '')
  const segments = path.split('/')
  if (segments.includes('')) return undefined
  const isSelector = /^[?>#]/.test(path) || (path.startsWith('*') && !isGlob(segments[0]))
  if (isSelector && path !== '#') return undefined
  // Such a level is no regular expression and none of a glob, so it tells the notation of the others.
  if (segments.at(-1) === '#' || segments.includes('+')) return selectorOfFilter(segments)
  if (/^[$&<]|[\\()[\]{}|^]/.test(path)) return undefined
  // In `*.*` the dot and the star are a glob's.
  if (/\.[*+]/.test(path) && !/[*+?#%]/.test(path.replace(/\.[*+]/g, ''))) return `?${path}`
  if (/[*?]/.test(path)) return selectorOfGlob(segments)
  if (/(^|\/)%|%(\/|$)/.test(path)) return `*${quoted(path).replaceAll('%', '.*').replaceAll('_', '.')}`
  return undefined
}

/** `*` and a slash, or two of them, cannot begin a selector. */
function isGlob(segment: string | undefined): boolean {
  return segment === '*' || segment === '**'
}

/** @param levels of a filter of MQTT: each is a wildcard, or stands for itself whatever its characters are */
function selectorOfFilter(levels: readonly string[]): string {
  // `a/#` is also `a` itself.
  const isBranch = levels.at(-1) === '#'
  const rest = isBranch ? levels.slice(0, -1) : levels
  if (rest.length === 0) return everything
  return `?${rest.map((level) => (level === '+' ? '.*' : quoted(level))).join('/')}${isBranch ? '//' : ''}`
}

function selectorOfGlob(given: readonly string[]): string {
  const segments = given.filter((segment, index) => segment !== '**' || given[index + 1] !== '**')
  // `a/**` is only what is below it.
  const scope = segments.at(-1) === '**' ? '/' : ''
  const rest = scope === '' ? segments : segments.slice(0, -1)
  if (rest.length === 0) return everything
  if (!rest.includes('**')) return `?${rest.map((segment) => segmentIn(inSegments, segment)).join('/')}${scope}`
  const parts = rest.map((segment, index) => {
    if (segment === '**') return '(.*/)?'
    return segmentIn(inPath, segment) + (index === rest.length - 1 ? '' : '/')
  })
  return `*${parts.join('')}${scope}`
}

function segmentIn({ characters, character }: Notation, segment: string): string {
  const part = (text: string) => (text === '?' ? character : quoted(text))
  return segment
    .split(/(\*+|\?)/)
    .map((text) => (text.startsWith('*') ? characters : part(text)))
    .join('')
}
