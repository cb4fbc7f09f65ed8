/** Checks the log on its own and against the versions of topics. */
import type { Cancellation } from '../../../base/cancellation.js'
import { sliceNow, waitForSlice } from '../../../base/time-slices.js'
import { encodeKey, keyTextOf, pathOfKeyText } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type { LogPosition, LogRecord, Snapshot } from '../../engine.js'
import { addLoggedKeys, countLoggedKeys } from '../../logged-keys.js'
import type { Finding } from '../../maintenance.js'

/** Topics compared per pass over the log; each pass reads all of it. */
const topicsAtOnceMax = 200_000

/** Keys to read ahead, for an engine that waits for its reads. */
const keysAheadMax = 2000

const outOfOrder = 'it is out of order'

export class LogCheck {
  #first: LogPosition | undefined
  #last: LogPosition | undefined
  /** Versions of topics that must be in the log, by the texts of their keys. */
  readonly #expected = new Map<string, number>()

  constructor(
    private readonly snapshot: Snapshot,
    private readonly report: (finding: Finding) => void,
    private readonly cancellation: Cancellation,
  ) {}

  /** Checks the records, and stops at the first that is out of order. @returns the number of records */
  async checkRecords(): Promise<number> {
    let count = 0
    await this.#visit((record) => {
      count++
      const { version, total, keys } = record
      const changes = countLoggedKeys(keys)
      const problem = positionProblem(record, changes ?? 0, this.#last)
      if (problem !== undefined) this.report(`record ${version} of the log: ${problem}`)
      // A damaged page can lead a walk around in circles.
      if (problem === outOfOrder) return false
      if (changes === undefined) this.report(`record ${version} of the log: its keys cannot be read`)
      this.#last = { version, total }
      this.#first ??= this.#last
      return true
    })
    if (this.#last === undefined) this.report('the log has no record, so the last version is unknown')
    return count
  }

  /** If true, call `compareVersions` before noting more versions. */
  get isFull(): boolean {
    return this.#expected.size >= topicsAtOnceMax
  }

  /** Checks that a topic's version is possible, and notes it for the comparison with the log. */
  noteVersion(path: Path, version: number): void {
    if (!Number.isSafeInteger(version) || version < 1)
      return this.report(`item at "${path}": its version is ${version}, not a positive integer`)
    if (this.#first === undefined || this.#last === undefined) return
    if (version > this.#last.version)
      return this.report(`item at "${path}": its version is ${version}, but the last one is ${this.#last.version}`)
    // Changes before the first record are unknown.
    if (version <= this.#first.version) return
    this.#expected.set(keyTextOf(encodeKey(path)), version)
  }

  async compareVersions(): Promise<void> {
    const expected = this.#expected
    if (expected.size === 0) return
    let before = 0
    await this.#visit(({ version, keys }) => {
      const texts: string[] = []
      for (const key of addLoggedKeys(texts, keys, 0) ? texts : []) {
        const wanted = expected.get(key)
        if (wanted !== undefined && wanted > before && wanted <= version) expected.delete(key)
      }
      before = version
      return true
    })
    for (const [key, version] of expected)
      this.report(
        `item at "${pathOfKeyText(key)}": its version is ${version}, but the log does not contain that change`,
      )
    expected.clear()
  }

  /** Calls `visit` with each record, in order, until it returns false. Other work runs in between. */
  async #visit(visit: (record: LogRecord) => boolean): Promise<void> {
    let last: number | undefined
    for (let isEnded = false; !isEnded; ) {
      const slice = await waitForSlice(this.cancellation)
      isEnded = true
      await this.snapshot.log(last ?? 0, keysAheadMax, (record) => {
        if (record.version === last) return true
        last = record.version
        const goesOn = visit(record)
        // An engine that waits for its records passes them in its own slices.
        isEnded = !goesOn || !(sliceNow() ?? slice).isOver()
        return goesOn && isEnded
      })
    }
  }
}

/** @param changes the record's own number of changes @param last the previous position; undefined for the first record */
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
  return `it counts ${total} changes in total, but there are ${last.total + changes}`
}
