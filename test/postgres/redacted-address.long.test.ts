/** No log line and no message ever shows the password of a PostgreSQL address, in any notation of the address. */
import { join } from 'node:path'
import t from 'tap'
import { parseAddress, redactAddress } from '../../dist/settings/address.js'
import { runCommand, startServer } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'

const shown: Readonly<Record<string, string>> = {
  lmdb: 'lmdb',
  'postgres://h/d': 'postgres://h/d',
  'postgres://u@h:5432/d': 'postgres://u@h:5432/d',
  'postgres://u:s3cret@h:5432/d': 'postgres://u:***@h:5432/d',
  'postgresql://u:s3cret@h/d': 'postgresql://u:***@h/d',
  'postgres://u:p@s3cret@h/d': 'postgres://u:***@h/d',
  'postgres://u:p:s3cret@h/d': 'postgres://u:***@h/d',
  'postgres://u:s3cret%40%2F@h/d': 'postgres://u:***@h/d',
  'postgres://:s3cret@h/d': 'postgres://:***@h/d',
  'postgres://u:s3cret@/d?host=/run/postgresql': 'postgres://u:***@/d?host=/run/postgresql',
  'postgres:///d?host=/run/postgresql&user=u': 'postgres:///d?host=/run/postgresql&user=u',
  'postgres://h/d?password=s3cret': 'postgres://h/d?password=***',
  'postgres://h/d?user=u&password=p@s3cret&sslmode=require': 'postgres://h/d?user=u&password=***&sslmode=require',
  'postgres://h/d?p%61ssword=s3cret': 'postgres://h/d?p%61ssword=***',
  'postgres://h/d?PASSWORD=s3cret': 'postgres://h/d?PASSWORD=***',
  'postgres://h/d?sslpassword=s3cret': 'postgres://h/d?sslpassword=***',
  'postgres://u:p@h/d?password=s3cret': 'postgres://u:***@h/d?password=***',
  // The end of a password with an unescaped special character is unknown, so only the scheme is shown.
  'postgres://u:12#s3cret@h/d': 'postgres://***',
  'postgres://u:12/s3cret@h/d': 'postgres://***',
  'postgres://u:12?s3cret@h/d': 'postgres://***',
  'postgres://u:s3/cret@h/d': 'postgres://***',
  'postgres://u:s3 cret@h:port/d': 'postgres://***',
  // Not a valid address, but possibly meant as one.
  'mysql://u:s3cret@h/d': 'mysql://***',
  'postgres:/u:s3cret@h/d': '***',
  'u:s3cret@h/d': '***',
  's3cret and more': '***',
  sqlite: 'sqlite',
}

t.test('an address is shown without its password', (t) => {
  for (const [address, expected] of Object.entries(shown)) t.equal(redactAddress(address), expected, address)
  t.end()
})

t.test('ambiguous and malformed addresses are invalid, and all others are valid', (t) => {
  const valid = [
    'lmdb',
    'postgres://u:p@s@h/d',
    'postgres://u:p@/d?host=/run/p',
    'postgres:///d?host=/run/p',
    'postgresql://h?user=a@b',
  ]
  for (const address of valid) t.equal(parseAddress(address), address)
  const invalid = [
    '',
    'LMDB',
    'sqlite',
    'postgres:/h',
    'postgres//h',
    'mysql://h/d',
    'postgres://u:12#s@h/d',
    'postgres://u:12/s@h/d',
    'postgres://u:12?s@h/d',
    'postgres://h:port/d',
  ]
  for (const address of invalid) t.match(parseAddress(address), { problem: /^must be / }, address)
  t.end()
})

/** A command waits a few seconds for an engine that is down, and many commands run concurrently here. */
const engineAwayMsMax = 120_000

const wrong = ['postgres://u:12#s3cret@h/d', 'mysql://u:s3cret@h/d', 'postgres://u:s3cret@h:port/d']
const away = ['postgres://u:s3cret@127.0.0.1:1/d', 'postgres://u@127.0.0.1:1/d?password=s3cret']

t.test('no command prints the password of an address', async (t) => {
  const data = join(t.testdir(), 'db')
  const calls = [
    ...wrong.map((address) => ({ args: ['serve'], address })),
    ...away.flatMap((address) => [['migrate'], ['check']].map((args) => ({ args, address }))),
  ]
  await Promise.all(
    calls.map(async ({ args, address }) => {
      const { code, stdout, stderr } = await runCommand(
        [...args, '--store', address],
        { TOPICD_DATA: data },
        '',
        engineAwayMsMax,
      )
      t.not(code, 0, `${args[0]} ${address}`)
      t.match(stderr, /^topicd: /m)
      t.notMatch(stdout + stderr, 's3cret', `${args[0]} ${address}`)
    }),
  )
})

t.test('a service that waits for its engine prints no password', async (t) => {
  const server = await startServer(t, { store: away[0], workers: 1, check: false, token: 'none' })
  const { reason } = await server.logged('the store is unavailable')
  const ready = await fetch(`${server.adminUrl}/readyz`)
  t.equal(ready.status, 503)
  t.match(reason, /cannot be reached/)
  t.notMatch(`${await ready.text()}${server.output}`, 's3cret')
})

const engine = await postgres()

t.test('the log shows the address without the password', { skip: engine === undefined && skipReason }, async (t) => {
  const address = (await engine?.database()) ?? ''
  const server = await startServer(t, { store: `${address}${address.includes('?') ? '&' : '?'}password=s3cret` })
  const { config } = await server.logged('settings')
  t.match((config as { store: string }).store, 'password=***')
  t.notMatch(server.output, 's3cret')
})
