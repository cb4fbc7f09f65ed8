/**
 * The records of API keys as every engine reads them, and as `check` does. Nothing here knows where they are stored.
 */
import type { KeyRecord } from '../../keys/record.js'

/** The record of the key with this name; or what is wrong with it, as the end of a sentence. */
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

/** The record of the key with this name. @throws Error when it cannot be read */
export function requireKeyRecord(name: string, text: string): KeyRecord {
  const record = readKeyRecord(name, text)
  if (typeof record === 'string') throw new Error(unreadableKey(name, record))
  return record
}

/** What a person is told of a key that cannot be read. */
export function unreadableKey(name: string, problem: string): string {
  return `API key "${name}": ${problem}; topicd keys revoke ${name} removes it`
}

/** Whether it has what is needed to find and to check callers: one record must not make those of all keys useless. */
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
