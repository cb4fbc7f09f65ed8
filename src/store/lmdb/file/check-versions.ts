/** What a check of the store finds wrong with the versions of topics, and with the log that gives them out. */

import type { Cancellation } from '../../../base/cancellation.js'
import { waitForSlice } from '../../../base/time-slices.js'
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type { LogPosition } from '../../engine.js'
import { countLoggedKeys, loggedKeyOf } from '../../logged-keys.js'
import { logBound, logPositionOf } from '../environment/change-record.js'
import type { Environment } from '../environment/environment.js'
import { readConversionVersion } from '../environment/versions.js'
import type { Snapshot } from '../view/snapshot.js'

/** The record of the log that has all versions from `from` to `to`, both included. */
interface Found {
  readonly from: number
  readonly to: number
  readonly value: Buffer
}

/** The rules in one snapshot. */
export class VersionRules {
  readonly #changes: Environment['changes']
  readonly #conversion: number
  /** The versions of the first and the last record of the log; undefined without any. */
  readonly #first: number | undefined
  readonly #last: number | undefined
  #found: Found | undefined

  constructor(
    { changes, meta }: Environment,
    private readonly snapshot: Snapshot,
  ) {
    const end = (reverse: boolean): number | undefined => {
      const [key] = [...changes.getKeys({ ...snapshot, reverse, limit: 1 })]
      return key && logPositionOf(key).version
    }
    this.#changes = changes
    this.#conversion = readConversionVersion(meta, snapshot)
    this.#first = end(false)
    this.#last = end(true)
  }

  /** What is wrong with the numbers that belong to the whole store; undefined when nothing is. */
  get problem(): string | undefined {
    const [last, conversion] = [this.#last, this.#conversion]
    if (last === undefined) return 'the log has no record, so the last version is not known'
    if (!Number.isSafeInteger(last) || !Number.isSafeInteger(conversion) || conversion < 1) {
      return `the last version is ${last} and that of the conversion ${conversion}: they must be positive integers`
    }
    return last < conversion
      ? `the last version, ${last}, is less than that of the conversion, ${conversion}`
      : undefined
  }

  /** What is wrong with the number beside the item of a topic; undefined when nothing is. */
  problemOf(path: Path, stored: number): string | undefined {
    if (!Number.isSafeInteger(stored) || stored < 1) return `its version is ${stored}, not a positive integer`
    if (this.#first === undefined || this.#last === undefined) return undefined
    if (stored > this.#last) return `its version is ${stored}, but the last one is ${this.#last}`
    // What was logged before the first record is not known.
    if (stored <= this.#first || this.#hasLogged(path, stored)) return undefined
    return `its version is ${stored}, but the log has no such change of it`
  }

  /** Reports what is wrong with the log, up to a record out of order. @returns the number of records that it examined */
  async checkLog(report: (finding: string) => void, cancellation?: Cancellation): Promise<number> {
    let count = 0
    let last: LogPosition | undefined
    let slice = await waitForSlice(cancellation)
    for (const { key, value } of this.#changes.getRange({ ...this.snapshot })) {
      count++
      const position = logPositionOf(key)
      const changes = countTopicKeys(value)
      const problem = positionProblem(position, changes ?? 0, last)
      if (problem !== undefined) report(`record ${position.version} of the log: ${problem}`)
      // A damaged page can lead a walk around in circles.
      if (problem === outOfOrder) break
      if (changes === undefined) report(`record ${position.version} of the log: its keys cannot be read`)
      last = position
      if (slice.isOver()) slice = await waitForSlice(cancellation)
    }
    return count
  }

  /** Whether the record of this version names the topic. */
  #hasLogged(path: Path, version: number): boolean {
    const value = this.#recordOf(version)
    if (value === undefined) return false
    return value.includes(loggedKeyOf(encodeKey(path)))
  }

  #recordOf(version: number): Buffer | undefined {
    const known = this.#found
    if (known !== undefined && version >= known.from && version <= known.to) return known.value
    const [record] = [...this.#changes.getRange({ ...this.snapshot, start: logBound(version), limit: 1 })]
    this.#found = record && { from: version, to: logPositionOf(record.key).version, value: record.value }
    return record?.value
  }
}

const outOfOrder = 'it is out of order'

/** @param changes those of the record @param last the position of the one before; undefined for the first */
function positionProblem(
  { version, total }: LogPosition,
  changes: number,
  last: LogPosition | undefined,
): string | undefined {
  if (!Number.isSafeInteger(version) || !Number.isSafeInteger(total) || version < 1 || total < 0) {
    return 'its key is not two positive integers'
  }
  if (last === undefined) return undefined
  if (version <= last.version) return outOfOrder
  if (total === last.total + changes) return undefined
  return `it counts ${total} changes, but those before it and its own are ${last.total + changes}`
}

/** The number of keys; undefined when they cannot be read. */
function countTopicKeys(value: Buffer): number | undefined {
  try {
    return countLoggedKeys(value)
  } catch {
    return undefined
  }
}
