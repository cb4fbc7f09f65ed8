/**
 * Changing topics: set, add, addAndSet, remove. Each reads the topic's specification, decides, and hands lmdb writes under
 * the condition that what it read still stands; lmdb evaluates the condition inside the transaction, across all
 * processes. When it does not hold, nothing was written, and the decision is made again on a fresh snapshot. So deciding
 * and writing are one step, and nobody waits for JavaScript while holding the lock.
 *
 * The conditions: an item of a topic without properties is replaced where an item of that version stands (its type and
 * existence are all that was decided on). Everything else goes by the specification's version, which is unique for every
 * write of that record.
 */
import { conflictsMax, removalsInOneCommitMax } from '../../limits.js'
import { encodeKey } from '../../topics/key.js'
import type { Path } from '../../topics/path.js'
import type { Plan } from '../../topics/plan.js'
import { keyAfter, type KeyRange, rangesFrom } from '../../topics/range.js'
import { compatible, removalOf, retainsValue } from '../../topics/properties.js'
import { dueMs, tracksUpdates } from '../../topics/removal.js'
import { encodeItem } from '../../topics/topic.js'
import { now } from '../clock.js'
import { nextSlice } from '../slices.js'
import { type Cancellation, Cancelled, type Creation, StoreError, type TopicStore } from '../store.js'
import type { Commits } from './commits.js'
import { type Environment, plainVersion, propertiedVersion } from './environment.js'
import { walkKeys } from './reads.js'
import type { Snapshots } from './snapshot.js'
import { type Details, dueKey, encodeSpecification, readSpecification, type StoredSpecification } from './specification.js'

export type Writes = Pick<TopicStore, 'set' | 'add' | 'addAndSet' | 'remove' | 'removeMatches'>

/** A decision: the outcome, or the write that has it; undefined when the write's condition did not hold. */
type Decision<T> = T | Promise<T | undefined>

export function createWrites(environment: Environment, snapshots: Snapshots, commits: Commits): Writes {
  const { specifications, items, updates, due, uniqueNumber } = environment

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
    if (details === undefined) return commits.run(outcome, () => items[type].put(path, item, plainVersion, plainVersion))
    const retains = retainsValue(details.properties)
    const policy = removalOf(details.properties)
    const tracks = policy !== undefined && tracksUpdates(policy)
    if (!retains && !tracks) return outcome
    return commits.run(outcome, () =>
      specifications.ifVersion(path, version, () => {
        if (retains) void items[type].put(path, item, propertiedVersion)
        if (tracks) void updates.put(path, Buffer.from(JSON.stringify(now())), uniqueNumber())
      }),
    )
  }

  function create<T>({ path, type, properties }: Creation, item: Buffer, outcome: T): Decision<T> {
    return commits.run(outcome, () => {
      if (Object.keys(properties).length === 0) {
        const record = encodeSpecification({ type, details: undefined })
        return specifications.ifNoExists(path, () => {
          void specifications.put(path, record, uniqueNumber())
          void items[type].put(path, item, plainVersion)
        })
      }
      const created = now()
      const policy = removalOf(properties)
      const key = policy && dueKey(dueMs(policy, created.wallMs, created.wallMs), uniqueNumber())
      const details: Details = { properties, created, due: key?.toString('hex') }
      return specifications.ifNoExists(path, () => {
        void specifications.put(path, encodeSpecification({ type, details }), uniqueNumber())
        void items[type].put(path, retainsValue(properties) ? item : encodeItem(path, type, undefined), propertiedVersion)
        if (policy && tracksUpdates(policy)) void updates.put(path, Buffer.from(JSON.stringify(created)), uniqueNumber())
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

  function remove(path: Path): Promise<boolean> {
    return settleDecision<boolean>(() => {
      const stored = readSpecification(specifications, path)
      if (stored === undefined) return false
      return removeStored(path, stored).then((removed) => removed || undefined)
    })
  }

  async function removeMatches({ ranges, matcher }: Plan, cancellation: Cancellation): Promise<number> {
    let removed = 0
    let left: readonly KeyRange[] | undefined = ranges
    do {
      if (cancellation.cancelled) throw new Cancelled()
      const matches: Path[] = []
      let full = false
      const from: readonly KeyRange[] = left
      const walked = snapshots.alone(() =>
        walkKeys(specifications, from, matcher, (path) => {
          matches.push(path)
          full = matches.length === removalsInOneCommitMax
          return !full
        }),
      )
      left = full ? rangesFrom(from, keyAfter(encodeKey(matches[matches.length - 1]))) : walked
      const outcomes = await Promise.all(matches.map(remove))
      for (const done of outcomes) if (done) removed++
      if (left !== undefined) await nextSlice()
    } while (left !== undefined)
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
    remove,
    removeMatches,
  }
}
