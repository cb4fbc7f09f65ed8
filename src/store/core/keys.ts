/**
 * API keys as records: name → JSON, and the time of each key's last use, as a number. Reads them and requests changes; the
 * transaction that applies a change decides its effect.
 */
import { whenKnown } from '../../base/awaitable.js'
import { mayChange } from '../../keys/makers.js'
import { additionTo } from '../../keys/rotation.js'
import type { ApiKeyStore } from '../api-keys.js'
import type { Engine } from '../engine.js'
import { numberOf } from '../number-record.js'
import { readKeyRecord, unreadableKey } from './key-records.js'
import { keysRevisionName, keysRevisionOf, type RecordChange } from './write/records.js'

/** @param change resolves to false if the change was rejected */
export function createKeyRecords(
  engine: Pick<Engine, 'atOnce'>,
  change: (change: RecordChange) => Promise<boolean>,
): ApiKeyStore {
  const readKeys: ApiKeyStore['readKeys'] = (onUnreadable = refuse) =>
    whenKnown(
      engine.atOnce((view) => view.records('keys')),
      (stored) =>
        stored.flatMap(([name, bytes]) => {
          const record = readKeyRecord(name, bytes.toString())
          if (typeof record !== 'string') return [record]
          onUnreadable(name, record)
          return []
        }),
    )
  return {
    readKeys,
    keysRevision: () =>
      whenKnown(
        engine.atOnce((view) => view.record('meta', keysRevisionName)),
        keysRevisionOf,
      ),
    async addKey(record, by) {
      if (await change({ about: 'addKey', record, by })) return 'added'
      // This only finds the reason: the conflicting key may be gone by now, or be unreadable.
      const keys = await readKeys(() => {})
      const reason = additionTo(keys, record)
      if (reason !== 'added') return reason
      const maker = keys.find(({ name }) => name === by?.name)
      return mayChange(by, maker, record) ? 'name_taken' : 'forbidden'
    },
    async restoreKey(record) {
      await change({ about: 'restoreKey', record })
    },
    rotateKey: (rotation, by) => change({ about: 'rotateKey', rotation, by }),
    revokeKey: (name, by) => change({ about: 'revokeKey', name, by }),
    keyUses: () =>
      whenKnown(
        engine.atOnce((view) => view.records('keyUses')),
        (uses) => {
          const known = uses.map(([name, record]) => [name, numberOf(record)] as const)
          return new Map(known.filter((use): use is [string, number] => use[1] !== undefined))
        },
      ),
    async touchKeys(uses) {
      await change({ about: 'touchKeys', uses: [...uses] })
    },
  }
}

function refuse(name: string, problem: string): never {
  throw new Error(unreadableKey(name, problem))
}
