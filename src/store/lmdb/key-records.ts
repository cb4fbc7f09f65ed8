/** API keys as records: name → JSON. Reading them; what a change does is in write/small-changes.ts. */
import type { ApiKeyStore } from '../api-keys.js'
import { readKeyRecords } from '../shared/key-records.js'
import type { Environment } from './environment/environment.js'
import { numberOf } from './environment/number-record.js'
import type { Snapshots } from './read/read-freshness.js'
import { keysRevisionOf } from './write/small-changes.js'
import type { Writing } from './write/writes.js'

export function createKeyRecords(
  environment: Environment,
  snapshots: Snapshots,
  writing: Pick<Writing, 'change'>,
): ApiKeyStore {
  const { keys, keyUses } = environment
  return {
    readKeys(onUnreadable) {
      const stored = snapshots.alone(() => [...keys.getRange({})])
      return readKeyRecords(
        stored.map(({ key, value }) => ({ name: key, text: value.toString() })),
        onUnreadable,
      )
    },
    keysRevision: () => snapshots.alone(() => keysRevisionOf(environment)),
    addKey: (record) => writing.change({ about: 'addKey', record }),
    async restoreKey(record) {
      await writing.change({ about: 'restoreKey', record })
    },
    rotateKey: (rotation) => writing.change({ about: 'rotateKey', rotation }),
    revokeKey: (name) => writing.change({ about: 'revokeKey', name }),
    keyUses: () =>
      snapshots.alone(
        () =>
          new Map(
            [...keyUses.getRange({})].flatMap(({ key, value }) => {
              const usedMs = numberOf(value)
              return usedMs === undefined ? [] : [[key, usedMs] as const]
            }),
          ),
      ),
    async touchKeys(uses) {
      await writing.change({ about: 'touchKeys', uses: [...uses] })
    },
  }
}
