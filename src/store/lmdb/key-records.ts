/**
 * API keys as records: name → JSON. Every change also increments the revision, in the same transaction, so that a
 * process can tell by one small read whether the keys that it holds are current.
 *
 * What runs in a transaction is bounded by the number of keys. It runs when a key changes and, once a minute, to store
 * when keys were used.
 */
import { rotated } from '../key-rotation.js'
import type { KeyRecord, TopicStore } from '../store.js'
import type { Commits } from './commits.js'
import { smallWrite } from './disk-room.js'
import type { Environment } from './environment.js'
import type { Snapshots } from './fresh-snapshots.js'
import { numberRecord } from './number-record.js'
import type { TopicChanges } from './topic-changes.js'

type KeyRecords = Pick<
  TopicStore,
  'readKeys' | 'keysRevision' | 'addKey' | 'restoreKey' | 'rotateKey' | 'revokeKey' | 'keyUses' | 'touchKeys'
>

const revisionName = 'keysRevision'

export function createKeyRecords(environment: Environment, snapshots: Snapshots, commits: Commits): KeyRecords {
  const { keys, keyUses, meta } = environment

  function revision(): number {
    return meta.get(revisionName)?.readDoubleBE() ?? 0
  }

  /**
   * Changes keys, and increments the revision.
   *
   * @param change decides, within the transaction: returns what writes, or undefined to change nothing
   * @returns whether anything was changed
   */
  function changeKeys(change: () => (() => void) | undefined, record?: KeyRecord): Promise<boolean> {
    const size = { ...smallWrite, bytes: record === undefined ? 0 : Buffer.byteLength(JSON.stringify(record)) }
    return commits.run((changes) => {
      const next = numberRecord(revision() + 1)
      const write = change()
      if (write === undefined) return false
      changes.write(() => {
        write()
        meta.putSync(revisionName, next)
      })
      return true
    }, size)
  }

  function put(record: KeyRecord): () => void {
    const text = Buffer.from(JSON.stringify(record))
    return () => keys.putSync(record.name, text)
  }

  return {
    readKeys: () => snapshots.alone(() => [...keys.getRange({})].map(({ value }) => recordOf(value))),
    keysRevision: () => snapshots.alone(revision),
    addKey: (record) => changeKeys(() => (keys.get(record.name) === undefined ? put(record) : undefined), record),
    async restoreKey(record) {
      await changeKeys(() => put(record), record)
    },
    rotateKey: (rotation) =>
      changeKeys(() => {
        const known = keys.get(rotation.name)
        const record = rotated(known && recordOf(known), rotation)
        return record && put(record)
      }),
    revokeKey: (name) =>
      changeKeys(() => {
        if (keys.get(name) === undefined) return undefined
        return () => {
          keyUses.removeSync(name)
          keys.removeSync(name)
        }
      }),
    keyUses: () =>
      snapshots.alone(
        () => new Map([...keyUses.getRange({})].map(({ key, value }) => [key, value.readDoubleBE()] as const)),
      ),
    async touchKeys(uses) {
      const isNews = ([name, usedMs]: readonly [string, number]): boolean =>
        usedMs > (keyUses.get(name)?.readDoubleBE() ?? 0) && keys.get(name) !== undefined
      const work = (changes: TopicChanges): void => {
        const news = [...uses].filter(isNews)
        changes.write(() => {
          for (const [name, usedMs] of news) keyUses.putSync(name, numberRecord(usedMs))
        })
      }
      await commits.run(work, { ...smallWrite, operations: uses.size })
    },
  }
}

function recordOf(value: Buffer): KeyRecord {
  return JSON.parse(value.toString()) as KeyRecord
}
