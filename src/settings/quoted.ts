/**
 * How messages repeat what a user typed: in quotes, and without passwords, since a store's address may have been typed
 * in the wrong place.
 */
import { isPostgresAddress, redactAddress } from './address.js'

/** The text in quotes, redacted. */
export function quoted(text: string): string {
  return JSON.stringify(redacted(text))
}

/** The text; a PostgreSQL address in it, or any address with a user, is shown as `redactAddress` returns it. */
export function redacted(text: string): string {
  return text.replace(/\b\w+:\/\/.*$/s, (address) =>
    isPostgresAddress(address) || address.includes('@') ? redactAddress(address) : address,
  )
}
