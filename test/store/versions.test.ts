/** Version numbers are never returned twice, and the next block of them is there before one is used up. */
import t from 'tap'
import { openEnvironment } from '../../dist/store/lmdb/environment.js'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import { Versions } from '../../dist/store/lmdb/versions.js'
import type { Finding } from '../../dist/store/store.js'
import { creation, single } from '../support/stores/store.js'

const blockSize = 8

await t.test('processes that share a store take different numbers, block after block', async (t) => {
  const { meta, root } = openEnvironment(t.testdir())
  const processes = [new Versions(meta, blockSize), new Versions(meta, blockSize)]
  for (const versions of processes) versions.whenLow(() => reserves.push(versions.takeReserve()))
  const reserves: Promise<boolean>[] = []
  const taken: number[] = []
  for (let i = 0; i < 5 * blockSize; i++) {
    for (const versions of processes) taken.push(versions.next())
    await Promise.all(reserves)
  }
  t.equal(new Set(taken).size, 2 * 5 * blockSize, 'no number was returned twice')
  t.equal(reserves.length, 2 * 5, 'a reserve for each block')
  await root.close()
})

await t.test('a store goes on creating and updating topics through many blocks', async (t) => {
  const store = openLmdbStore({ directory: t.testdir(), versionsInBlock: 64 })
  const properties = { REMOVAL: 'when no updates for 1h' }
  const numbers = Array.from({ length: 10 }, (_, i) => i)
  for (let round = 0; round < 40; round++) {
    const written = numbers.map((i) =>
      single.addAndSet(store, creation(`a/${i}`, 'json', properties), Buffer.from(`${round}`)),
    )
    for (const outcome of await Promise.all(written)) t.equal(outcome, round === 0 ? 'created' : 'updated')
  }
  const findings: Finding[] = []
  await store.check((finding) => findings.push(finding))
  t.same(findings, [])
  await store.close()
})

await t.test('without its reserve a used up block is a defect, not a repetition', async (t) => {
  const { meta, root } = openEnvironment(t.testdir())
  const versions = new Versions(meta, blockSize)
  for (let i = 0; i < blockSize; i++) versions.next()
  t.throws(() => versions.next(), /used up/)
  await root.close()
})
