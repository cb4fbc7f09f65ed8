/** Keys whose tokens come from files, as containers get their secrets: made at the start, or by a command. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand, Server, startServer } from '../support/service/server.js'

const token = 'operators+own/token.of-256_bits~0123456789ABCDEF=='
const other = 'fedcba9876543210fedcba9876543210'

t.test('a service without keys makes its first with the token in a file, and shows it nowhere', async (t) => {
  const directory = t.testdir()
  const [dataDir, file] = [join(directory, 'db'), join(directory, 'secret')]
  writeFileSync(file, `${token}\n`)
  const flags = ['--first-key-file', file, '--access-log']
  const first = await startServer(t, { dataDir, token, flags })
  t.equal((await first.post('addAndSet', { path: 'a', value: 1 })).status, 200)
  t.match(await first.logged('first key created'), { name: 'first', file })
  t.notOk(JSON.stringify(first.log).includes(token) || first.output.includes(token), 'no log has the token')
  first.signal('SIGTERM')
  await first.exited

  const again = await startServer(t, { dataDir, token, flags })
  t.equal((await again.post('fetch', { path: 'a' })).status, 200)
  const { stdout } = await again.command('keys', 'list')
  t.equal(stdout.split('\n').length, 3, 'there is one key still')
  again.signal('SIGTERM')
  await again.exited
  t.notOk(
    again.log.some(({ level }) => Number(level) >= 40),
    'nothing to warn of',
  )

  writeFileSync(file, other)
  const changed = await startServer(t, { dataDir, token, flags })
  t.match(
    await changed.logged(
      'API keys exist already, so no key was created with the token in this file: topicd keys add NAME --token-file FILE adds one',
    ),
    { file },
  )
  rmSync(file)
  t.match(await changed.command('reload'), { code: 0 }, 'a reload does not need it')
  t.equal((await changed.post('fetch', { path: 'a' }, { token: other })).status, 401)
})

t.test('a service without any key says so', async (t) => {
  const directory = t.testdir({ secret: token })
  const server = new Server(t, join(directory, 'db'), { token })
  t.teardown(() => server.tearDown())
  const listening = server.listening()
  await server.logged('there is no API key, so every request is answered 401; create one with: topicd keys add NAME')
  t.equal((await server.command('keys', 'add', 'one', '--token-file', join(directory, 'secret'))).code, 0)
  await listening
})

t.test('a file without a usable token keeps a service from starting, with the reason', async (t) => {
  const directory = t.testdir({ weak: 'hunter2hunter2' })
  const start = (...flags: readonly string[]) =>
    runCommand(['serve', '--port', '0', '--admin-port', '0', '--data', join(directory, 'db'), ...flags])
  const weak = await start('--first-key-file', join(directory, 'weak'))
  t.equal(weak.code, 2)
  t.match(weak.stderr, /weak can be guessed: it needs 128 random bits, such as those of "openssl rand -hex 32"/)
  t.notMatch(weak.stdout + weak.stderr, 'hunter2')
  t.match(await start('--first-key-file', join(directory, 'nowhere')), { code: 2, stderr: /nowhere cannot be read/ })
  const token = 'a-token-that-was-given-in-place-of-0123456789'
  const mistaken = await start('--first-key-file', token)
  t.match(mistaken, { code: 2, stderr: /the token file cannot be read: ENOENT/ })
  t.notMatch(mistaken.stderr, token)
  t.match(await start('--first-key', '--first-key-file', join(directory, 'weak')), { code: 2, stderr: /together/ })
})

t.test('keys add takes the token from a file, and prints none', async (t) => {
  const directory = t.testdir({ one: `${token}\n`, two: other, weak: 'a' })
  const add = (name: string, file: string) =>
    runCommand([
      'keys',
      'add',
      name,
      '--create',
      '--data',
      join(directory, 'db'),
      '--token-file',
      join(directory, file),
    ])
  t.match(await add('one', 'one'), { code: 0, stdout: '', stderr: /^topicd: there was no store in .*\n$/ })
  t.match(await add('again', 'one'), { code: 1, stdout: '', stderr: /the token is that of the key "one"/ })
  t.match(await add('one', 'two'), { code: 1, stderr: /there is already a key named "one"/ })
  t.match(await add('weak', 'weak'), { code: 2, stderr: /--token-file: the token in .*weak can be guessed/ })
  t.match(await add('none', 'none'), { code: 2, stderr: /cannot be read: ENOENT/ })
  const server = await startServer(t, { dataDir: join(directory, 'db'), token })
  t.equal((await server.post('add', { path: 'a' })).status, 200)
  const args = ['keys', 'add', 'two', '--allow', 'fetch', '--token-file', join(directory, 'two')]
  t.strictSame(await server.command(...args), { code: 0, stdout: '', stderr: '' }, 'while the service runs, too')
  t.equal((await server.post('add', { path: 'b' }, { token: other })).status, 403)
})
