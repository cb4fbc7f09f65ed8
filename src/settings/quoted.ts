/**
 * Quotes a user's input for messages, without passwords: the user may have typed a store's address in the wrong place.
 */
import { isPostgresAddress, redactAddress } from './address.js'

export function quoted(text: string): string {
  return JSON.stringify(redacted(text))
}

/** Replaces a PostgreSQL address, or any address with a user, with the result of `redactAddress`. */
export function redacted(text: string): string {
  return text.replace(/\b\w+:\/\/.*$/s, (address) =>
    isPostgresAddress(address) || address.includes('@') ? redactAddress(address) : address,
  )
}
