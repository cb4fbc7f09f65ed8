/**
 * The record of one API key that cannot be read: the others are read and revoked all the same, the key is named and refused,
 * and a revocation removes it.
 */
import { join } from 'node:path'
import t from 'tap'
import { Keyring } from '../../dist/auth/keyring.js'
import { hashToken } from '../../dist/auth/token.js'
import { keyResponse } from '../../dist/cluster/key-requests.js'
import type { KeyRecord } from '../../dist/keys/record.js'
import { planSelector } from '../../dist/selectors/planner.js'
import { openStore } from '../../dist/store/open.js'
import { inside } from '../support/stores/environment.js'
import { execute } from '../support/stores/postgres-cluster.js'
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
  t.ok(isAccepted('good'), 'the others are read')
  const named = Object.keys(unreadable).map((name) =>
    failures.filter((line) => line.startsWith(`API key "${name}" is refused`)),
  )
  t.ok(
    named.every(({ length }) => length === 1),
    'each is named',
  )
  await store.revokeKey('revoked')
  await keyring.reload()
  t.notOk(isAccepted('revoked'), 'a revocation is noticed')
  t.equal(failures.length, Object.keys(unreadable).length, 'each is named once')
  t.equal(keyring.unreadable, failures.length, 'and counted')

  const listed = keyResponse(store, { command: 'listKeys' })
  await t.rejects(listed, {
    name: 'Error',
    message: /^API key "\w+": its record .*; topicd keys revoke \w+ removes it$/,
  })
  const findings: string[] = []
  await store.check((finding) => findings.push(finding), planSelector)
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
