/**
 * Changing topics: set, add, addAndSet, remove. Each reads the topic's specification, decides, and hands lmdb writes under
 * the condition that what it read still stands; lmdb evaluates the condition inside the transaction, across all
 * processes. When it does not hold, nothing was written, and the decision is made again on a fresh snapshot. So deciding
 * and writing are one step, and no JavaScript runs for a topic while the write lock is held.
 *
 * The conditions: an item of a topic without properties is replaced where an item of that version stands (its type and
 * existence are all that was decided on). Everything else goes by the specification's version, which is unique for every
 * write of that record.
 */
import { conflictsMax, removalsInOneCommitMax } from '../../limits.js'
import type { Matcher, Plan } from '../../selectors/plan.js'
import { encodeKey } from '../../topics/key.js'
import type { Path } from '../../topics/path.js'
import { compatible, removalOf, retainsValue } from '../../topics/properties.js'
import { type KeyRange, keyAfter, rangesFrom } from '../../topics/range.js'
import { dueMs, tracksUpdates } from '../../topics/removal-policy.js'
import { encodeItem } from '../../topics/topic.js'
import type { Clock } from '../clock.js'
import { type Cancellation, Cancelled, type Creation, StoreError, type TopicStore } from '../store.js'
import { waitForSlice } from '../time-slices.js'
import type { Commits } from './commits.js'
import { type Environment, plainVersion, propertiedVersion } from './environment.js'
import type { Snapshots } from './fresh-snapshots.js'
import { walkKeys } from './reads.js'
import {
  type Details,
  dueKey,
  encodeSpecification,
  readSpecification,
  type StoredSpecification,
} from './specification.js'

export type Writes = Pick<TopicStore, 'set' | 'add' | 'addAndSet' | 'remove' | 'removeMatches'>

/** A decision: the outcome, or the write that has it; undefined when the write's condition did not hold. */
type Decision<T> = T | Promise<T | undefined>

/** A topic that a bulk removal came upon, as it stood then. */
interface Match {
  readonly path: Path
  readonly stored: StoredSpecification
}

export function createWrites(environment: Environment, snapshots: Snapshots, commits: Commits, now: Clock): Writes {
  const { specifications, items, updates, due, nextVersion } = environment
  let lastBatch: Promise<unknown> = Promise.resolve()

  function settleDecision<T>(decide: () => Decision<T>): Promise<T> {
    snapshots.forRequest()
    const decision = decide()
    if (!(decision instanceof Promise)) return Promise.resolve(decision)
    return decision.then((outcome) => outcome ?? decideAgain(decide))
  }

  async function decideAgain<T>(decide: () => Decision<T>): Promise<T> {
    for (let conflicts = 1; conflicts < conflictsMax; conflicts++) {
      const outcome = await snapshots.alone(decide)
      if (outcome !== undefined) return outcome
    }
    throw new StoreError('retry', 'too many writes met at one topic')
  }

  function overwrite<T>(path: Path, stored: StoredSpecification, item: Buffer, outcome: T): Decision<T> {
    const { type, details, version } = stored
    if (details === undefined)
      return commits.run(outcome, () => items[type].put(path, item, plainVersion, plainVersion))
    const retains = retainsValue(details.properties)
    const policy = removalOf(details.properties)
    const tracks = policy !== undefined && tracksUpdates(policy)
    if (!retains && !tracks) return outcome
    return commits.run(outcome, () =>
      specifications.ifVersion(path, version, () => {
        if (retains) void items[type].put(path, item, propertiedVersion)
        if (tracks) void updates.put(path, Buffer.from(JSON.stringify(now())), nextVersion())
      }),
    )
  }

  function create<T>({ path, type, properties, removal: policy }: Creation, item: Buffer, outcome: T): Decision<T> {
    return commits.run(outcome, () => {
      if (Object.keys(properties).length === 0) {
        const record = encodeSpecification({ type, details: undefined })
        return specifications.ifNoExists(path, () => {
          void specifications.put(path, record, nextVersion())
          void items[type].put(path, item, plainVersion)
        })
      }
      const created = now()
      const key = policy && dueKey(dueMs(policy, created.wallMs, created.wallMs), nextVersion())
      const details: Details = { properties, created, due: key?.toString('hex') }
      return specifications.ifNoExists(path, () => {
        void specifications.put(path, encodeSpecification({ type, details }), nextVersion())
        void items[type].put(
          path,
          retainsValue(properties) ? item : encodeItem(path, type, undefined),
          propertiedVersion,
        )
        if (policy && tracksUpdates(policy)) void updates.put(path, Buffer.from(JSON.stringify(created)), nextVersion())
        if (key !== undefined) void due.put(key, Buffer.from(path))
      })
    })
  }

  function removeStored(path: Path, stored: StoredSpecification): Promise<boolean> {
    const { type, details, version } = stored
    const removed = commits.run(true, () =>
      specifications.ifVersion(path, version, () => {
        void specifications.remove(path)
        void items[type].remove(path)
        if (details !== undefined) void updates.remove(path)
        if (details?.due !== undefined) void due.remove(Buffer.from(details.due, 'hex'))
      }),
    )
    return removed.then((done) => done === true)
  }

  function decideRemoval(path: Path): Decision<boolean> {
    const stored = readSpecification(specifications, path)
    if (stored === undefined) return false
    return removeStored(path, stored).then((removed) => removed || undefined)
  }

  /**
   * Collects what is next to be removed, a slice's or a commit's worth of it; reading it belongs to the slice.
   *
   * @returns the ranges that are left; undefined when there is nothing more
   */
  function collect(
    from: readonly KeyRange[],
    matcher: Matcher | undefined,
    matches: Match[],
  ): readonly KeyRange[] | undefined {
    const left = walkKeys(specifications, from, matcher, (path) => {
      const stored = readSpecification(specifications, path)
      if (stored !== undefined) matches.push({ path, stored })
      return matches.length < removalsInOneCommitMax
    })
    if (matches.length < removalsInOneCommitMax) return left
    return rangesFrom(from, keyAfter(encodeKey(matches[matches.length - 1].path)))
  }

  /** What was not removed because it changed after it was read is decided on again. */
  async function removeAll(matches: readonly Match[]): Promise<number> {
    const removals = matches.map(async ({ path, stored }) => {
      return (await removeStored(path, stored)) || decideAgain(() => decideRemoval(path))
    })
    let removed = 0
    for (const done of await Promise.all(removals)) if (done) removed++
    return removed
  }

  /** One batch of this process after another: so one commit holds one of them, however many bulk removals there are. */
  function afterLastBatch(batch: () => Promise<number>): Promise<number> {
    const removed = lastBatch.then(batch)
    lastBatch = removed.catch(() => 0)
    return removed
  }

  async function removeMatches({ ranges, matcher }: Plan, cancellation: Cancellation): Promise<number> {
    let removed = 0
    let left: readonly KeyRange[] | undefined = ranges
    while (left !== undefined) {
      await waitForSlice()
      if (cancellation.cancelled) throw new Cancelled()
      const from: readonly KeyRange[] = left
      const matches: Match[] = []
      left = snapshots.alone(() => collect(from, matcher, matches))
      if (matches.length > 0) removed += await afterLastBatch(() => removeAll(matches))
    }
    return removed
  }

  return {
    set(path, type, valueText) {
      const item = encodeItem(path, type, valueText)
      return settleDecision(() => {
        const stored = readSpecification(specifications, path)
        if (stored === undefined) return 'no_such_topic'
        if (stored.type !== type) return 'incompatible_type'
        return overwrite(path, stored, item, 'set')
      })
    },
    add(creation) {
      const item = encodeItem(creation.path, creation.type, undefined)
      return settleDecision<'created' | 'present'>(() => {
        if (specifications.getBinaryFast(creation.path) !== undefined) return 'present'
        return create(creation, item, 'created')
      })
    },
    addAndSet(creation, valueText) {
      const { path, type, properties } = creation
      const item = encodeItem(path, type, valueText)
      return settleDecision<'created' | 'updated' | 'incompatible_type' | 'incompatible_properties'>(() => {
        const stored = readSpecification(specifications, path)
        if (stored === undefined) return create(creation, item, 'created')
        if (stored.type !== type) return 'incompatible_type'
        if (!compatible(stored.details?.properties ?? {}, properties)) return 'incompatible_properties'
        return overwrite(path, stored, item, 'updated')
      })
    },
    remove: (path) => settleDecision(() => decideRemoval(path)),
    removeMatches,
  }
}
