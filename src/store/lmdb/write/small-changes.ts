/**
 * The changes of records that are not topics, each as what it does in a transaction: API keys, when they were last used,
 * and the time of the last backup. Every change of a key also increments the revision, so that a process can tell by one
 * small read whether the keys that it holds are current.
 */
import type { KeyRecord } from '../../../keys/record.js'
import { rotated } from '../../../keys/rotation.js'
import { keysRevisionName, keysRevisionOf } from '../../core/keys.js'
import { numberOf, numberRecord } from '../../number-record.js'
import { requireKeyRecord } from '../../shared/key-records.js'
import type { Environment } from '../environment/environment.js'
import type { Task } from './commits.js'
import { smallWrite } from './disk-room.js'
import type { TopicChanges } from './topic-changes.js'
import type { SmallChange } from './wire.js'

/** In `meta`: when the last backup was completed, in ms since the epoch. */
export const backupName = 'backup'

/** What a change does, and whether that is anything. */
export function taskOfChange(environment: Environment, change: SmallChange): Task<boolean> {
  const record = 'record' in change ? change.record : undefined
  const bytes = record === undefined ? 0 : Buffer.byteLength(JSON.stringify(record))
  const operations = change.about === 'touchKeys' ? change.uses.length : 1
  return {
    size: { ...smallWrite, operations, bytes },
    work(changes: TopicChanges) {
      const write = decide(environment, change)
      if (write === undefined) return false
      changes.write(write)
      return true
    },
  }
}

/** What has to be written; undefined for nothing. */
function decide(environment: Environment, change: SmallChange): (() => void) | undefined {
  const { keys, keyUses, meta } = environment
  switch (change.about) {
    case 'addKey':
      return keys.get(change.record.name) === undefined ? putKey(environment, change.record) : undefined
    case 'restoreKey':
      return putKey(environment, change.record)
    case 'rotateKey': {
      const { name } = change.rotation
      const known = keys.get(name)
      const record = rotated(known && requireKeyRecord(name, known.toString()), change.rotation)
      return record && putKey(environment, record)
    }
    case 'revokeKey':
      if (keys.get(change.name) === undefined) return undefined
      return changingKeys(environment, () => {
        keyUses.removeSync(change.name)
        keys.removeSync(change.name)
      })
    case 'touchKeys': {
      const news = change.uses.filter(
        ([name, usedMs]) => usedMs > (numberOf(keyUses.get(name)) ?? 0) && keys.get(name) !== undefined,
      )
      return () => {
        for (const [name, usedMs] of news) keyUses.putSync(name, numberRecord(usedMs))
      }
    }
    case 'noteBackup':
      return () => void meta.putSync(backupName, numberRecord(change.madeMs))
    default:
      return change satisfies never
  }
}

function putKey(environment: Environment, record: KeyRecord): () => void {
  const text = Buffer.from(JSON.stringify(record))
  return changingKeys(environment, () => environment.keys.putSync(record.name, text))
}

function changingKeys(environment: Environment, write: () => void): () => void {
  const revision = keysRevisionOf(environment.meta.get(keysRevisionName))
  // In the place of one that cannot be read, one that no process has read.
  const next = numberRecord(Number.isNaN(revision) ? Date.now() : revision + 1)
  return () => {
    write()
    environment.meta.putSync(keysRevisionName, next)
  }
}
