/**
 * API keys as rows. Every change also increments the revision, in the same statement, so that a process can tell by one
 * small read whether the keys that it holds are current.
 */
import { rotated } from '../../keys/rotation.js'
import { conflictsMax } from '../../settings/limits.js'
import type { ApiKeyStore } from '../api-keys.js'
import { readKeyRecords, requireKeyRecord } from '../core/key-records.js'
import { StoreError } from '../errors.js'
import type { Connections } from './connection/connections.js'
import { plainArray, textArray } from './sql/arrays.js'
import { inTime, type Statement } from './sql/statement.js'

const readRecords: Statement<{ name: string; text: string }> = {
  name: 'read_keys_records',
  text: 'select name, record as text from topicd.api_keys order by name',
}

const readRevision: Statement<{ value: string }> = {
  name: 'read_keys_revision',
  text: `select value from topicd.meta where name = 'keys_revision'`,
}

/** Returns a row if and only if a key was changed. */
const incrementRevision = `
    update topicd.meta set value = value + 1
    where name = 'keys_revision' and exists (select 1 from changed) returning value`

const insertRecord: Statement<{ value: string }> = {
  name: 'insert_key',
  text: `with changed as (
      insert into topicd.api_keys (name, record) select $1, $2 where ${inTime(3)}
      on conflict (name) do nothing returning name
    ) ${incrementRevision}`,
}

const putRecord: Statement<{ value: string }> = {
  name: 'put_key',
  text: `with changed as (
      insert into topicd.api_keys (name, record) select $1, $2 where ${inTime(3)}
      on conflict (name) do update set record = excluded.record returning name
    ) ${incrementRevision}`,
}

const readRecord: Statement<{ record: string }> = {
  name: 'read_key_record',
  text: 'select record from topicd.api_keys where name = $1',
}

/** Only while the record is the one that was read. */
const replaceRecord: Statement<{ value: string }> = {
  name: 'replace_key',
  text: `with changed as (
      update topicd.api_keys set record = $2 where name = $1 and record = $3 and ${inTime(4)} returning name
    ) ${incrementRevision}`,
}

const deleteRecord: Statement<{ value: string }> = {
  name: 'delete_key',
  text: `with changed as (delete from topicd.api_keys where name = $1 and ${inTime(2)} returning name) ${incrementRevision}`,
}

const readUses: Statement<{ name: string; used: string }> = {
  name: 'read_key_uses',
  text: 'select name, used from topicd.api_keys where used is not null',
}

const touchRecords: Statement<never> = {
  name: 'touch_keys',
  text: `
    update topicd.api_keys k set used = v.used
    from unnest($1::text[], $2::bigint[]) as v (name, used)
    where k.name = any(array[v.name]) and (k.used is null or k.used < v.used) and ${inTime(3)}`,
}

export function createKeyRecords({ read, write }: Pick<Connections, 'read' | 'write'>): ApiKeyStore {
  return {
    readKeys: async (onUnreadable) => readKeyRecords(await read(readRecords, []), onUnreadable),
    async keysRevision() {
      const [row] = await read(readRevision, [])
      return Number(row?.value ?? 0)
    },
    addKey: async (record) => (await write(insertRecord, [record.name, JSON.stringify(record)])).length > 0,
    async restoreKey(record) {
      await write(putRecord, [record.name, JSON.stringify(record)])
    },
    async rotateKey(rotation) {
      const { name } = rotation
      for (let attempt = 0; attempt < conflictsMax; attempt++) {
        const [row] = await read(readRecord, [name])
        const record = row && rotated(requireKeyRecord(name, row.record), rotation)
        if (row === undefined || record === undefined) return false
        if ((await write(replaceRecord, [name, JSON.stringify(record), row.record])).length > 0) return true
      }
      throw new StoreError('retry', `the API key "${name}" keeps being changed by others`)
    },
    revokeKey: async (name) => (await write(deleteRecord, [name])).length > 0,
    keyUses: async () => new Map((await read(readUses, [])).map(({ name, used }) => [name, Number(used)] as const)),
    async touchKeys(uses) {
      const sorted = [...uses].sort(([a], [b]) => (a < b ? -1 : 1))
      if (sorted.length === 0) return
      const names = textArray(sorted.map(([name]) => Buffer.from(name)))
      await write(touchRecords, [names, plainArray(sorted.map(([, usedMs]) => usedMs))])
    },
  }
}
