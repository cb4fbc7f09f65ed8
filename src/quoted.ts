/**
 * What a message repeats of a text that somebody typed. An address in the wrong place is shown without its password there too.
 */
import { isPostgresAddress, redactAddress } from './store/address.js'

/** The text in quotes, as `redacted` leaves it. */
export function quoted(text: string): string {
  return JSON.stringify(redacted(text))
}

/** The text; of an address in it that is PostgreSQL's, or has an account, what `redactAddress` leaves. */
export function redacted(text: string): string {
  return text.replace(/\w+:\/\/.*$/s, (address) =>
    isPostgresAddress(address) || address.includes('@') ? redactAddress(address) : address,
  )
}
