/** Keys whose tokens are read from files, such as container secrets: created at startup or by a command. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand, Server, startServer } from '../support/service/server.js'

const token = 'operators+own/token.of-256_bits~0123456789ABCDEF=='
const other = 'fedcba9876543210fedcba9876543210'

t.test('a service without keys creates a key with the token in a file and never shows the token', async (t) => {
  const directory = t.testdir({ secret: `${token}\n` })
  const [dataDir, file] = [join(directory, 'db'), join(directory, 'secret')]
  const flags = ['--first-key-file', file, '--access-log']
  const first = await startServer(t, { dataDir, token, flags })
  t.equal((await first.post('addAndSet', { path: 'a', value: 1 })).status, 200)
  t.match(await first.logged('first key created'), { name: 'first', file })
  t.notOk(JSON.stringify(first.log).includes(token) || first.output.includes(token), 'no log contains the token')
  first.signal('SIGTERM')
  await first.exited

  writeFileSync(file, other)
  const again = await startServer(t, { dataDir, token, flags })
  const said =
    'API keys already exist, so no key was created with the token in this file; to add one, run: topicd keys add NAME --token-file FILE'
  t.match(await again.logged(said), { file })
  rmSync(file)
  t.match(await again.command('reload'), { code: 0 }, 'a reload does not need the file')
  t.equal((await again.post('fetch', { path: 'a' }, { token: other })).status, 401)
})

t.test('a service without keys reports that it has none, and keys add reads a token from a file', async (t) => {
  const directory = t.testdir({ one: `${token}\n`, two: other, weak: 'a' })
  const server = new Server(t, join(directory, 'db'), { token })
  t.teardown(() => server.tearDown())
  const listening = server.listening()
  await server.logged('there is no API key, so every request returns 401; create one with: topicd keys add NAME')
  const add = (name: string, file: string) => server.command('keys', 'add', name, '--token-file', join(directory, file))
  t.strictSame(await add('one', 'one'), { code: 0, stdout: '', stderr: '' })
  await listening
  t.equal((await server.post('add', { path: 'a' })).status, 200)
  t.match(await add('again', 'one'), { code: 1, stdout: '', stderr: /the key "one" already has this token/ })
  t.match(await add('one', 'two'), { code: 1, stderr: /a key named "one" already exists/ })
  t.match(await add('weak', 'weak'), { code: 2, stderr: /--token-file: the token in .*weak can be guessed/ })
})

t.test('a service does not start with a file without a usable token, and reports the reason', async (t) => {
  const directory = t.testdir({ weak: 'hunter2hunter2' })
  const start = (file: string) =>
    runCommand([...'serve --port 0 --admin-port 0 --data'.split(' '), join(directory, 'db'), '--first-key-file', file])
  const weak = await start(join(directory, 'weak'))
  t.equal(weak.code, 2)
  t.match(weak.stderr, /weak can be guessed: it needs 128 random bits, for example from "openssl rand -hex 32"/)
  t.notMatch(weak.stdout + weak.stderr, 'hunter2')
  const token = 'a-token-that-was-given-in-place-of-0123456789'
  const mistaken = await start(token)
  t.match(mistaken, { code: 2, stderr: /the token file cannot be read: ENOENT/ })
  t.notMatch(mistaken.stderr, token)
})
