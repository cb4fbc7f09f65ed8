/**
 * Origins of web pages as the setting names them: none, `*` for all, or a list with commas. An origin is a scheme, a
 * host and, unless it is the scheme's own, a port. Pure: http/cors.ts decides what an origin may do.
 */
import { originsMax } from './limits.js'
import { quoted } from './quoted.js'

/** All origins, `null` included. */
export const everyOrigin = '*'

/** A wildcard is a valid character of a host to `URL`, so it is excluded here. */
const originForm = /^https?:\/\/[^/?#@\\*\s]+$/i

/** The origins in a text, each as browsers send it: `HTTPS://App.Example:443` is `https://app.example`. */
export function originsOf(text: string): readonly string[] {
  const parts = partsOf(text)
  return [...new Set(parts.map((part) => (part === everyOrigin ? part : new URL(part).origin)))]
}

/** What is wrong with a text, as the rest of a sentence that begins with "it"; undefined when it is valid. */
export function originsProblem(text: string): string | undefined {
  const parts = partsOf(text)
  if (parts.length > originsMax) return `must list at most ${originsMax} origins, or be * for all`
  if (parts.length === 1 && parts[0] === everyOrigin) return undefined
  for (const part of parts) {
    const problem = partProblem(part)
    if (problem !== undefined) return problem
  }
  return undefined
}

function partsOf(text: string): readonly string[] {
  return text.trim() === '' ? [] : text.split(',').map((part) => part.trim())
}

function partProblem(part: string): string | undefined {
  if (part === '') return 'must have an origin on both sides of each comma'
  if (part === everyOrigin) return 'must have * alone, not in a list'
  if (/^null$/i.test(part)) return 'must not list null, an origin that any page can obtain with a sandboxed frame'
  if (originForm.test(part) && URL.canParse(part)) return undefined
  return `must be * or origins such as https://app.example:8443, without a path, a "/" at the end or a wildcard, unlike ${quoted(part)}`
}
