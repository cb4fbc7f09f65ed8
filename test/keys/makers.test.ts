/**
 * A maker changes only the keys that it may change, even if earlier checks passed. Each store decides within the transaction:
 * a maker that was just revoked, rotated or replaced by another key changes nothing, and a repeated request does not fail.
 */
import { join } from 'node:path'
import t from 'tap'
import { excessOf, isAdministrator, type Maker } from '../../dist/keys/makers.js'
import { type KeyRecord, parseRights, rightsProblem } from '../../dist/keys/record.js'
import { openStore } from '../../dist/store/open.js'
import type { Path } from '../../dist/topics/path.js'
import { eachStore } from '../support/stores/stores.js'

const hashOf = (digit: string): string => digit.repeat(64)

const key = (name: string, digit: string, more: Partial<KeyRecord> = {}): KeyRecord => {
  const record = { name, tokenHash: hashOf(digit), allow: ['fetch'], under: [], madeMs: 1 } as const
  return { ...record, ...more }
}

const maker = key('maker', 'a', { allow: ['fetch', 'admin'] })
const by: Maker = { name: 'maker', tokenHash: hashOf('a') }

await eachStore(t, async (t, address) => {
  const store = await openStore(address, { directory: join(t.testdir(), 'db') })
  t.teardown(() => store.close())
  const names = async (): Promise<string> => (await store.readKeys()).map(({ name }) => name).join()
  const rotation = (name: string, from: string, to: string) => ({ ...key(name, to), formerHash: hashOf(from) })
  await store.addKey(maker)
  await store.addKey(key('strong', 'b', { allow: ['fetch', 'set'] }))

  await t.test('a maker can add, rotate and revoke keys that do not exceed its own', async (t) => {
    t.equal(await store.addKey(key('made', '1'), by), 'added')
    t.equal(await store.rotateKey(rotation('made', '1', '2'), by), true)
    t.equal(await store.revokeKey('made', by), true)
    t.equal(await store.revokeKey('made', by), false)
    t.equal(await store.addKey(key('strong', '3'), by), 'name_taken')
    t.equal(await names(), 'maker,strong')
  })

  await t.test('a maker cannot change keys that exceed its own, and an invalid maker can change no key', async (t) => {
    t.equal(await store.addKey(key('made', '1', { allow: ['set'] }), by), 'forbidden', 'a key with more permissions')
    t.equal(await store.rotateKey(rotation('strong', 'b', '2'), by), false)
    t.equal(await store.revokeKey('strong', by), false)
    // A maker without the permission, one with another token, and a missing one.
    for (const wrong of [key('strong', 'b'), key('maker', 'b'), key('none', 'a')]) {
      t.equal(await store.addKey(key('made', '1'), wrong), 'forbidden')
      t.equal(await store.revokeKey('maker', wrong), false)
      t.equal(await store.rotateKey(rotation('maker', 'a', '2'), wrong), false)
    }
    t.equal(await names(), 'maker,strong')
  })

  await t.test('a repeated request to change a key has the same outcome', async (t) => {
    for (let attempt = 1; attempt <= 2; attempt++) t.equal(await store.addKey(key('made', '1'), by), 'added')
    // After the first attempt, the maker has another token.
    for (let attempt = 1; attempt <= 2; attempt++)
      t.equal(await store.rotateKey(rotation('maker', 'a', 'c'), by), true, `attempt ${attempt}`)
    t.equal(await store.addKey(key('later', '4'), by), 'forbidden')
    await store.revokeKey('maker')
    t.equal(await store.addKey(key('later', '4'), { ...by, tokenHash: hashOf('c') }), 'forbidden')
    t.equal(await store.addKey(key('made', '1'), by), 'added')
    t.equal(await names(), 'made,strong')
  })
})

t.test('a new key may not have more access than its maker', async (t) => {
  const limited = key('x', '1', { allow: ['fetch', 'admin'], expiresMs: 100, rate: 10 })
  const within = { allow: ['fetch'], expiresMs: 100, rate: 10 } as const
  for (const [more, excess] of [
    [{}, undefined],
    [{ allow: ['fetch', 'remove'] }, 'the permission remove'],
    [{ expiresMs: 101 }, 'a later expiry'],
    [{ expiresMs: undefined }, 'a later expiry'],
    [{ rate: 11 }, 'a higher rate'],
    [{ rate: undefined }, 'a higher rate'],
  ] as const)
    t.equal(excessOf({ ...within, ...more } as never, limited), excess)
  t.equal(excessOf(key('x', '1'), maker), undefined, 'a maker without limits')
})

t.test('permissions are distinct words, and a key with the permission admin has no subtrees', async (t) => {
  const both = key('x', '1', { allow: ['admin'], under: ['a' as Path] })
  t.match(rightsProblem(both), /subtrees/)
  t.equal(isAdministrator(both), false)
  t.strictSame(parseRights(['admin', 'fetch']), ['fetch', 'admin'])
  for (const words of [[], [''], ['fetch', 'fetch'], ['all'], ['Admin'], ['constructor']])
    t.equal(parseRights(words), undefined, words.join())
})
