/**
 * Small records as rows: API keys and their last uses are columns of one table; `meta` holds numbers. core/ defines the names and
 * formats of records.
 */
import { strict as assert } from 'node:assert'
import { keysRevisionName } from '../core/write/records.js'
import type { RecordTable } from '../engine.js'
import { numberOf, numberRecord } from '../number-record.js'
import { plainArray, textArray } from './sql/columns.js'
import type { Execute, Statement } from './sql/statement.js'

const readKeys: Statement<{ name: string; record: string }> = {
  name: 'read_api_keys',
  text: 'select name, record from topicd.api_keys order by name',
}

const readUses: Statement<{ name: string; used: string }> = {
  name: 'read_key_uses',
  text: 'select name, used from topicd.api_keys where used is not null order by name',
}

/** Reads a number in `meta` by its name. */
export const readNumber: Statement<{ value: string }> = {
  name: 'read_meta',
  text: 'select value from topicd.meta where name = $1',
}

const putKey: Statement<never> = {
  name: 'put_key',
  text: `
    insert into topicd.api_keys (name, record) values ($1, $2)
    on conflict (name) do update set record = excluded.record`,
}

const deleteKey: Statement<never> = { name: 'delete_key', text: 'delete from topicd.api_keys where name = $1' }

const putUses: Statement<never> = {
  name: 'put_key_uses',
  text: `
    update topicd.api_keys k set used = v.used
    from unnest($1::text[], $2::bigint[]) as v (name, used) where k.name = v.name`,
}

const putNumber: Statement<never> = {
  name: 'put_meta',
  text: `
    insert into topicd.meta (name, value) values ($1, $2::bigint)
    on conflict (name) do update set value = excluded.value`,
}

/** The name, in `meta`, of the only record that core/ keeps there. */
const keysRevisionColumn = 'keys_revision'

/** In the order of their names. */
export async function readRecords(read: Execute, table: RecordTable): Promise<readonly (readonly [string, Buffer])[]> {
  switch (table) {
    case 'keys':
      return (await read(readKeys, [])).map((row) => [row.name, Buffer.from(row.record)])
    case 'keyUses':
      return (await read(readUses, [])).map((row) => [row.name, numberRecord(Number(row.used))])
    case 'meta':
      return (await read(readNumber, [keysRevisionColumn])).map(({ value }) => [
        keysRevisionName,
        numberRecord(Number(value)),
      ])
    case 'receipts':
      return []
  }
}

export interface RecordPut {
  readonly table: RecordTable
  readonly name: string
  /** Undefined removes the record. */
  readonly value: Buffer | undefined
}

/** Changes records, within a transaction. All hosts wait for the transaction, so all last uses of keys are written in one statement. */
export async function putRecords(write: Execute, puts: readonly RecordPut[]): Promise<void> {
  for (const { table, name, value } of puts) {
    if (table === 'keys')
      await (value === undefined ? write(deleteKey, [name]) : write(putKey, [name, value.toString()]))
    else if (table === 'meta' && value !== undefined) {
      assert(name === keysRevisionName, `there is no number for ${name}`)
      await write(putNumber, [keysRevisionColumn, numberOf(value) ?? 0])
    }
  }
  // Removing a key also removes the time of its last use.
  const uses = puts.filter(({ table, value }) => table === 'keyUses' && value !== undefined)
  if (uses.length === 0) return
  const names = textArray(uses.map(({ name }) => Buffer.from(name)))
  await write(putUses, [names, plainArray(uses.map(({ value }) => numberOf(value) ?? 0))])
}
