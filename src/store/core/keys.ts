/**
 * API keys as records: name → JSON, and when each was last used, as a number. Reading them, and asking for changes. What a
 * change does is decided in the transaction that makes it.
 */
import { whenKnown } from '../../base/awaitable.js'
import type { ApiKeyStore } from '../api-keys.js'
import type { Engine } from '../engine.js'
import { numberOf } from '../number-record.js'
import { readKeyRecords } from './key-records.js'
import { keysRevisionName, keysRevisionOf } from './meta.js'
import type { RecordChange } from './write/records.js'

/** @param change resolves to whether it changed anything */
export function createKeyRecords(
  engine: Pick<Engine, 'atOnce'>,
  change: (change: RecordChange) => Promise<boolean>,
): ApiKeyStore {
  return {
    readKeys: (onUnreadable) =>
      whenKnown(
        engine.atOnce((view) => view.records('keys')),
        (stored) =>
          readKeyRecords(
            stored.map(([name, record]) => ({ name, text: record.toString() })),
            onUnreadable,
          ),
      ),
    keysRevision: () =>
      whenKnown(
        engine.atOnce((view) => view.record('meta', keysRevisionName)),
        keysRevisionOf,
      ),
    addKey: (record) => change({ about: 'addKey', record }),
    async restoreKey(record) {
      await change({ about: 'restoreKey', record })
    },
    rotateKey: (rotation) => change({ about: 'rotateKey', rotation }),
    revokeKey: (name) => change({ about: 'revokeKey', name }),
    keyUses: () =>
      whenKnown(
        engine.atOnce((view) => view.records('keyUses')),
        (uses) =>
          new Map(
            uses.flatMap(([name, record]) => {
              const usedMs = numberOf(record)
              return usedMs === undefined ? [] : [[name, usedMs] as const]
            }),
          ),
      ),
    async touchKeys(uses) {
      await change({ about: 'touchKeys', uses: [...uses] })
    },
  }
}
