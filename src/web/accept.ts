/**
 * Reads the headers accept and accept-encoding: lists of names with weights (RFC 9110, 12.4.2). If a header has several
 * lines, the caller joins them. Nothing is chosen or compressed here.
 */

/** If gzip is not named, `*` counts. */
export function takesGzip(acceptEncoding: string): boolean {
  return (weightOf('gzip', acceptEncoding) ?? weightOf('*', acceptEncoding) ?? 0) > 0
}

/** True if the client names this media type and does not prefer JSON, the type of all other responses. */
export function asksFor(type: string, accept: string): boolean {
  const weight = weightOf(type, accept) ?? 0
  return weight > 0 && weight >= (weightOf('application/json', accept) ?? 0)
}

/** Ignores case; the last weight counts. Undefined if `name` is not in the list. */
function weightOf(name: string, list: string): number | undefined {
  let weight: number | undefined
  for (const member of list.toLowerCase().split(',')) {
    if (!member.includes(name)) continue
    const [listed = '', ...parameters] = member.split(';').map((part) => part.trim())
    if (listed !== name) continue
    const given = parameters.find((parameter) => parameter.startsWith('q='))
    weight = given === undefined ? 1 : Number(given.slice('q='.length))
  }
  return weight
}
