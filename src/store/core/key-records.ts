/** Parsing API key records, for every engine and for `check`. Nothing here knows where they are stored. */
import type { KeyRecord } from '../../keys/record.js'

/** Returns a string, the end of a sentence, if the record is invalid. */
export function readKeyRecord(name: string, text: string): KeyRecord | string {
  let record: unknown
  try {
    record = JSON.parse(text)
  } catch {
    return 'its record cannot be read'
  }
  if (!isKeyRecord(record)) return 'its record cannot be read'
  return record.name === name ? record : 'its record has another name'
}

export function unreadableKey(name: string, problem: string): string {
  return `API key "${name}": ${problem}; to remove the key, run "topicd keys revoke ${name}"`
}

/** Checks only the members needed to identify and authorise callers: one bad record must not make all keys useless. */
function isKeyRecord(input: unknown): input is KeyRecord {
  if (typeof input !== 'object' || input === null) return false
  const { name, tokenHash, allow, under, expiresMs = 0, rate = 1, former } = input as Partial<KeyRecord>
  return (
    typeof name === 'string' &&
    typeof tokenHash === 'string' &&
    areStrings(allow) &&
    areStrings(under) &&
    typeof expiresMs === 'number' &&
    typeof rate === 'number' &&
    (former === undefined || (typeof former?.tokenHash === 'string' && typeof former.untilMs === 'number'))
  )
}

function areStrings(input: unknown): boolean {
  return Array.isArray(input) && input.every((each) => typeof each === 'string')
}
