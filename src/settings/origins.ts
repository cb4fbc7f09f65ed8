/**
 * Parses the setting for origins of web pages: none, `*` for all, or a comma-separated list. An origin is a scheme, a host
 * and a port, which is left out if it is the scheme's default. Pure: http/cors.ts applies the setting.
 */
import { originsMax } from './limits.js'
import { quoted } from './quoted.js'

/** All origins, `null` included. */
export const everyOrigin = '*'

/** `URL` accepts a wildcard in a host, so it is excluded here. */
const originForm = /^https?:\/\/[^/?#@\\*\s]+$/i

/**
 * Returns the origins joined by commas, each once and in the form that browsers send: `HTTPS://App.Example:443` becomes
 * `https://app.example`.
 */
export function parseOrigins(text: string): string | { readonly problem: string } {
  const parts = text.trim() === '' ? [] : text.split(',').map((part) => part.trim())
  if (parts.length > originsMax) return { problem: `must list at most ${originsMax} origins, or be * for all` }
  if (parts.length === 1 && parts[0] === everyOrigin) return everyOrigin
  const [problem] = parts.flatMap((part) => partProblem(part) ?? [])
  return problem === undefined ? [...new Set(parts.map((part) => new URL(part).origin))].join(',') : { problem }
}

function partProblem(part: string): string | undefined {
  if (part === '') return 'must have an origin on both sides of each comma'
  if (part === everyOrigin) return 'must be either * alone or a list without *'
  if (/^null$/i.test(part)) return 'must not list null, an origin that any page can obtain with a sandboxed frame'
  if (originForm.test(part) && URL.canParse(part)) return undefined
  return `must be * or origins such as https://app.example:8443, without a path, a trailing "/" or a wildcard, unlike ${quoted(part)}`
}
