/** LMDB as a reading engine: views of the stored data, and scans in slices, on snapshots that are fresh enough (read-freshness.ts). */
import { strict as assert } from 'node:assert'
import { type Cancellation, Cancelled } from '../../../base/cancellation.js'
import { inSlice, type Slice, sliceNow, waitForSlice } from '../../../base/time-slices.js'
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type { KeyRange } from '../../../topics/range.js'
import type { Engine, Records, Scan, Snapshot } from '../../engine.js'
import { type Environment, statsOf } from '../environment/environment.js'
import type { Snapshots } from './read-freshness.js'
import { LmdbView } from './view.js'

/** Visits matches for one slice. @returns the remaining ranges; undefined at the end */
type Visit = (ranges: readonly KeyRange[], slice: Slice) => readonly KeyRange[] | undefined

/** @param current reads in lmdb's current snapshot @param follow follows the process that writes */
export function createEngine(
  environment: Environment,
  current: LmdbView,
  snapshots: Snapshots,
  follow: Engine['follow'],
): Engine {
  return {
    storeId: () => environment.storeId,
    waits: false,
    now() {
      snapshots.forRequest()
      return current
    },
    atOnce: (read) => snapshots.alone(() => read(current)),
    inSnapshot: (work) => inSlice((slice) => snapshots.alone(() => work(current, slice))),
    scan(scan, cancellation) {
      if (cancellation.aborted) return Promise.reject(new Cancelled())
      const { ranges } = scan.plan
      const slice = sliceNow()
      if (slice !== undefined) snapshots.forRequest()
      const left = slice === undefined ? ranges : current.visit(scan, ranges, slice)
      const visit: Visit = (from, later) => snapshots.alone(() => current.visit(scan, from, later))
      return left === undefined ? undefined : visitInSlices(visit, left, cancellation)
    },
    openSnapshot: () => holdSnapshot(environment),
    follow,
  }
}

async function visitInSlices(visit: Visit, ranges: readonly KeyRange[], cancellation: Cancellation): Promise<void> {
  let left: readonly KeyRange[] | undefined = ranges
  while (left !== undefined) left = visit(left, await waitForSlice(cancellation))
}

/**
 * A snapshot that stays open, for walks over everything. lmdb does not report a damaged page: the walk ends early, or continues on
 * a wrong page. So a walk compares each key with the previous one, and the number of entries found with the number that each
 * database states.
 */
export function holdSnapshot(environment: Environment): Snapshot {
  const { specifications, items, updates, due, changes, keys, keyUses } = environment
  environment.freshen()
  const transaction = specifications.useReadTransaction()
  // Count in the same turn: lmdb counts in the snapshot that was taken last.
  const databases = { topics: specifications, ...items, updates, due, changes, keys, keyUses }
  const counts = Object.entries(databases).map(([kind, database]) => [kind, statsOf(database).entryCount] as const)
  const stated = Object.fromEntries(counts) as Records
  const view = new LmdbView(environment, () => assert.fail('a snapshot that is held is scanned'), transaction)
  let last: Buffer = Buffer.alloc(0)
  const scan = ({ plan, onMisplaced = outOfOrder, ...scan }: Scan, cancellation: Cancellation): Promise<void> => {
    const { ranges, matcher = () => true } = plan
    const ordered = (path: string, slice: Slice): boolean | Buffer => {
      const key = encodeKey(path as Path)
      if (Buffer.compare(last, key) >= 0) onMisplaced(path as Path)
      last = key
      return matcher(path, slice)
    }
    const inOrder = { ...scan, plan: { ranges, matcher: ordered } }
    return visitInSlices((from, slice) => view.visit(inOrder, from, slice), ranges, cancellation)
  }
  return Object.assign(view, { scan, stated, close: () => transaction.done() })
}

function outOfOrder(path: Path): never {
  throw new Error(`topic "${path}" is out of order`)
}
