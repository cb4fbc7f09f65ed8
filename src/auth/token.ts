/**
 * Tokens: made once, shown once, and stored only as a hash. Nothing here stores or logs one.
 */
import { createHash, randomBytes } from 'node:crypto'

/** 256 random bits, so that a plain SHA-256 of the token is as good as any slower hash. */
const tokenBytes = 32

/** Lets secret scanners, and people, recognise a token. */
const tokenPrefix = 'topicd_'

/** A new token, in characters that need no quoting in a header or a shell. */
export function makeToken(): string {
  return tokenPrefix + randomBytes(tokenBytes).toString('base64url')
}

/** SHA-256 of a token, lower-case hexadecimal: the only form in which it is stored. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token, 'utf8').digest('hex')
}
