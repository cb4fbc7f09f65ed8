/**
 * API keys as records: name → JSON, and when each was last used, as a number. Reading them, and asking for changes. What a
 * change does is decided in the transaction that makes it.
 */
import { whenKnown } from '../../base/awaitable.js'
import type { KeyRecord, KeyRotation } from '../../keys/record.js'
import type { ApiKeyStore } from '../api-keys.js'
import type { Engine } from '../engine.js'
import { numberOf } from '../number-record.js'
import { readKeyRecords } from '../shared/key-records.js'

/** A change of records of keys. */
export type KeyChange =
  | { readonly about: 'addKey' | 'restoreKey'; readonly record: KeyRecord }
  | { readonly about: 'rotateKey'; readonly rotation: KeyRotation }
  | { readonly about: 'revokeKey'; readonly name: string }
  | { readonly about: 'touchKeys'; readonly uses: readonly (readonly [name: string, usedMs: number])[] }

/** In `meta`: a number that changes with every change of a key. */
export const keysRevisionName = 'keysRevision'

/** The revision of the keys; NaN, which differs from any, if its record cannot be read. */
export function keysRevisionOf(record: Buffer | undefined): number {
  return record === undefined ? 0 : (numberOf(record) ?? NaN)
}

/** @param change resolves to whether it changed anything */
export function createKeyRecords(
  engine: Pick<Engine, 'atOnce'>,
  change: (change: KeyChange) => Promise<boolean>,
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
