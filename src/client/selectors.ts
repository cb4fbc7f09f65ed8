/**
 * Selectors for literal paths, which may contain any character, and for patterns in other notations. These are MQTT topic filters,
 * globs, SQL's LIKE, and regular expressions without a selector's first character. The service would take most of those
 * patterns for the path of one topic, so they would match nothing. Pure; the service defines the meaning of a selector.
 *
 * A subtree is written `?segment/segment//`, not `*path//`: the service also takes the text of `*path//` literally, so a
 * quoted character would select another path as well.
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

/** Selects every topic that at least one of these selectors selects. @throws RangeError if there is no selector */
export function anyOf(...selectors: readonly [string, ...string[]]): string {
  if (selectors.length === 0) throw new RangeError('anyOf needs at least one selector')
  // In a run of slashes, the last four are the separator, so a leading slash would belong to the previous selector.
  return `#${selectors.map((selector) => (selector.startsWith('/') ? `>${selector}` : selector)).join('////')}`
}

/** Ignores a slash at each end. @throws RangeError for an empty segment, which could change the meaning of a pattern */
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
  /** Any number of characters in one segment. */
  readonly characters: string
  readonly character: string
}

/** For `?seg/seg`, where a regular expression never spans a slash. */
const inSegments: Notation = { characters: '.*', character: '.' }

/** For `*pattern`, where a regular expression spans slashes unless it excludes them. */
const inPath: Notation = { characters: '[^/]*', character: '[^/]' }

/** Selects every topic. */
export const everything = '?.*//'

/**
 * Translates a pattern with another system's wildcards into a selector: MQTT's `+` and `#`; a glob's `*`, `**` and `?`;
 * LIKE's `%` at the start or end of a segment, and `_` in such a pattern; or a regular expression such as `plant/.*`.
 *
 * A pattern with a level `+`, or with `#` as its last level, is an MQTT filter, whose other levels match exactly.
 *
 * @returns undefined if the pattern has no such wildcards, starts like a selector, or contains other regular-expression
 *   syntax
 */
export function selectorFor(pattern: string): string | undefined {
  const path = pattern.replace(/^\/|\/$/g, '')
  const segments = path.split('/')
  if (segments.includes('')) return undefined
  const isSelector = /^[?>#]/.test(path) || (path.startsWith('*') && !isGlob(segments[0]))
  if (isSelector && path !== '#') return undefined
  // Neither a regular expression nor a glob has such a level, so the pattern is an MQTT filter.
  if (segments.at(-1) === '#' || segments.includes('+')) return selectorOfFilter(segments)
  if (/^[$&<]|[\\()[\]{}|^]/.test(path)) return undefined
  // `*.*` is a glob.
  if (/\.[*+]/.test(path) && !/[*+?#%]/.test(path.replace(/\.[*+]/g, ''))) return `?${path}`
  if (/[*?]/.test(path)) return selectorOfGlob(segments)
  if (/(^|\/)%|%(\/|$)/.test(path)) return `*${quoted(path).replaceAll('%', '.*').replaceAll('_', '.')}`
  return undefined
}

/** A selector cannot start with the segment `*` or `**`. */
function isGlob(segment: string | undefined): boolean {
  return segment === '*' || segment === '**'
}

/** @param levels the levels of an MQTT filter, each a wildcard or literal text */
function selectorOfFilter(levels: readonly string[]): string {
  // `a/#` also matches `a` itself.
  const isBranch = levels.at(-1) === '#'
  const rest = isBranch ? levels.slice(0, -1) : levels
  if (rest.length === 0) return everything
  return `?${rest.map((level) => (level === '+' ? '.*' : quoted(level))).join('/')}${isBranch ? '//' : ''}`
}

function selectorOfGlob(given: readonly string[]): string {
  const segments = given.filter((segment, index) => segment !== '**' || given[index + 1] !== '**')
  // `a/**` matches only descendants of `a`.
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
