/** API keys from the command line, while the service runs and while it does not. */
import { join } from 'node:path'
import t from 'tap'
import { overWorkers, runCommand, startServer, until } from '../support/server.js'

/**
 * How long a revoked key may be accepted: docs/operations.md promises a second, and on a busy machine the requests that
 * measure it are slow too.
 */
const revokedWithinMs = 5000

t.test('a key made while no service runs works once one does', async (t) => {
  const dataDir = join(t.testdir(), 'db')
  const made = await runCommand(['keys', 'add', 'early', '--data', dataDir])
  t.match(made.stdout, /^topicd_[\w-]{43}\n$/, 'the token alone')
  const again = await runCommand(['keys', 'add', 'early', '--data', dataDir])
  t.equal(again.code, 1, 'a name is used once')
  t.match(again.stderr, /early/)
  const server = await startServer(t, { dataDir, token: made.stdout.trim() })
  t.equal((await server.post('add', { path: 'a' })).status, 200)
})

await overWorkers(t, async (t, server) => {
  const added = await server.command('keys', 'add', 'brief', '--allow', 'fetch')
  t.strictSame([added.code, added.stderr], [0, ''])
  const token = added.stdout.trim()
  await server.knows(token)
  const listed = await server.command('keys', 'list')
  t.match(listed.stdout, /^brief +fetch +\(all\) +\d{4}-\d\d-\d\dT\d\d:\d\dZ +never$/m)
  t.notOk(listed.stdout.includes(token), 'no token is listed')

  const revoked = await server.command('keys', 'revoke', 'brief')
  const sinceMs = performance.now()
  t.equal(revoked.code, 0)
  await until('every worker refuses it', async () => {
    const requests = Array.from({ length: server.client.connections }, () => server.post('fetch', {}, { token }))
    return (await Promise.all(requests)).every(({ status }) => status === 401) || undefined
  })
  const tookMs = performance.now() - sinceMs
  t.ok(tookMs < revokedWithinMs, `refused everywhere after ${Math.round(tookMs)} ms`)
  t.equal((await server.command('keys', 'revoke', 'brief')).code, 1, 'it cannot be revoked twice')
})

t.test('keys list --json prints a line of JSON for each key', async (t) => {
  const dataDir = join(t.testdir(), 'db')
  const sinceMs = Date.now()
  await runCommand(['keys', 'add', 'one', '--allow', 'fetch,set', '--under', 'a/b', '--under', 'c', '--data', dataDir])
  await runCommand(['keys', 'add', 'two', '--data', dataDir])
  const { code, stdout } = await runCommand(['keys', 'list', '--json', '--data', dataDir])
  t.equal(code, 0)
  const [one = {}, two, ...more] = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  t.strictSame(Object.keys(one), ['name', 'allow', 'under', 'made', 'used'])
  t.match(one, { name: 'one', allow: ['fetch', 'set'], under: ['a/b', 'c'], used: null })
  t.ok(Date.parse(String(one.made)) >= sinceMs, 'made is an ISO time')
  t.match(two, { name: 'two', allow: ['fetch', 'set', 'add', 'remove'], under: [] })
  t.strictSame(more, [])
})
