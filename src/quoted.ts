/**
 * Text that somebody typed, as a message may repeat it. A store's address typed in the wrong place is shown without its
 * password, too.
 */
import { isPostgresAddress, redactAddress } from './store/address.js'

/** The text in quotes, redacted. */
export function quoted(text: string): string {
  return JSON.stringify(redacted(text))
}

/** The text; an address in it that is PostgreSQL's, or has a user, is shown as `redactAddress` returns it. */
export function redacted(text: string): string {
  return text.replace(/\w+:\/\/.*$/s, (address) =>
    isPostgresAddress(address) || address.includes('@') ? redactAddress(address) : address,
  )
}
