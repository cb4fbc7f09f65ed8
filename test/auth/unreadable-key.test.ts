/**
 * An API key record that cannot be read: other keys are still read and revoked, the unreadable key is named and rejected, and
 * a revocation removes it.
 */
import { join } from 'node:path'
import t from 'tap'
import { Keyring } from '../../dist/auth/keyring.js'
import { hashToken } from '../../dist/auth/token.js'
import { keyResponse } from '../../dist/cluster/key-requests.js'
import type { KeyRecord } from '../../dist/keys/record.js'
import { openStore } from '../../dist/store/open.js'
import { inside } from '../support/stores/environment.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { findingsOf } from '../support/stores/store.js'
import { eachStore } from '../support/stores/stores.js'

const record = (name: string): KeyRecord => ({
  name,
  tokenHash: hashToken(`token-of-${name}`),
  allow: ['fetch'],
  under: [],
  madeMs: 0,
})

const unreadable = {
  cut: '{"name":"cut"',
  none: 'null',
  other: JSON.stringify(record('good')),
  empty: '{"name":"empty"}',
  former: JSON.stringify({ ...record('former'), former: null }),
  under: JSON.stringify({ ...record('under'), under: [7] }),
}

await eachStore(t, async (t, address) => {
  const options = { directory: join(t.testdir(), 'db') }
  const first = await openStore(address, options)
  await first.addKey(record('good'))
  await first.addKey(record('revoked'))
  await first.close()
  for (const [name, text] of Object.entries(unreadable)) {
    if (address === 'lmdb') await inside(options.directory, ({ keys }) => keys.putSync(name, Buffer.from(text)))
    else await execute(address, `insert into topicd.api_keys (name, record) values ('${name}', '${text}')`)
  }

  const store = await openStore(address, options)
  t.teardown(() => store.close())
  const failures: string[] = []
  const keyring = await Keyring.open(store, (error) => failures.push((error as Error).message), 1, false)
  t.teardown(() => keyring.close())
  const isAccepted = (name: string): boolean => keyring.find(`Apikey token-of-${name}`) !== undefined
  t.ok(isAccepted('good'), 'the other keys are read')
  const named = Object.keys(unreadable).map((name) =>
    failures.filter((line) => line.startsWith(`API key "${name}" is rejected`)),
  )
  t.ok(
    named.every(({ length }) => length === 1),
    'each unreadable key is named',
  )
  await store.revokeKey('revoked')
  await keyring.reload()
  t.notOk(isAccepted('revoked'), 'a revocation is noticed')
  t.equal(failures.length, Object.keys(unreadable).length, 'each unreadable key is named once')
  t.equal(keyring.unreadable, failures.length, 'unreadable keys are counted')

  const listed = keyResponse(store, { command: 'listKeys' })
  await t.rejects(listed, {
    name: 'Error',
    message: /^API key "\w+": its record .*; to remove the key, run "topicd keys revoke \w+"$/,
  })
  const rotation = { name: 'cut', tokenHash: hashToken('new'), formerHash: hashToken('token-of-cut') }
  await t.rejects(keyResponse(store, { command: 'rotateKey', rotation }), {
    message: 'API key "cut": its record cannot be read; to remove the key, run "topicd keys revoke cut"',
  })
  const findings = await findingsOf(store)
  for (const name of Object.keys(unreadable))
    t.ok(
      findings.some((finding) => finding.startsWith(`API key "${name}": its record`)),
      `check finds ${name}`,
    )
  for (const name of Object.keys(unreadable)) t.ok(await store.revokeKey(name), `${name} can be revoked`)
  t.strictSame(
    (await keyResponse(store, { command: 'listKeys' })).map(({ name }) => name),
    ['good'],
  )
})

t.test('an unreadable last-use time or key revision does not affect other keys', async (t) => {
  const directory = join(t.testdir(), 'db')
  const first = await openStore('lmdb', { directory })
  for (const name of ['a', 'b']) await first.addKey(record(name))
  await first.touchKeys(new Map([['b', 1]]))
  await first.close()
  await inside(directory, ({ keyUses, meta }) => {
    keyUses.putSync('a', Buffer.from('x'))
    for (const name of ['keysRevision', 'backup']) meta.putSync(name, Buffer.from('x'))
  })
  const store = await openStore('lmdb', { directory })
  t.teardown(() => store.close())
  const uses = async (): Promise<unknown> => Object.fromEntries(await store.keyUses())
  t.strictSame(await uses(), { b: 1 })
  t.equal((await store.stats()).backupMs, undefined)
  t.strictSame(await findingsOf(store), ['API key "a": the time of its last use cannot be read'])
  await store.touchKeys(
    new Map([
      ['a', 2],
      ['b', 3],
    ]),
  )
  t.strictSame(await uses(), { a: 2, b: 3 })

  const keyring = await Keyring.open(store, (error) => t.fail(String(error)), 1, false)
  t.teardown(() => keyring.close())
  const accepted = (): string => ['a', 'b'].filter((name) => keyring.find(`Apikey token-of-${name}`)).join()
  t.equal(accepted(), 'a,b')
  await store.revokeKey('a')
  await keyring.reload()
  t.equal(accepted(), 'b')
})
