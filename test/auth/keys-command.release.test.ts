/**
 * API keys from the command line, while the service runs and while it does not. When a command that changes a key exits, every
 * worker of this host uses the change.
 */
import { join } from 'node:path'
import t from 'tap'
import { overStores } from '../support/service/over-stores.js'
import { runCommand, startServer, until } from '../support/service/server.js'

t.test('a key created while no service runs is valid once a service starts', async (t) => {
  const dataDir = join(t.testdir(), 'db')
  const made = await runCommand(['keys', 'add', 'early', '--create', '--data', dataDir])
  t.match(made.stdout, /^topicd_[\w-]{43}\n$/, 'the token alone')
  const again = await runCommand(['keys', 'add', 'early', '--data', dataDir])
  t.equal(again.code, 1, 'a name is unique')
  t.match(again.stderr, /early/)
  const server = await startServer(t, { dataDir, token: made.stdout.trim() })
  t.equal((await server.post('add', { path: 'a' })).status, 200)
})

await overStores(t, async (t, server) => {
  const added = await server.command('keys', 'add', 'brief', '--allow', 'fetch')
  t.strictSame([added.code, added.stderr], [0, ''])
  const token = added.stdout.trim()
  const statuses = async (token: string): Promise<string> => {
    const requests = Array.from({ length: server.client.connections }, () => server.post('fetch', {}, { token }))
    return [...new Set((await Promise.all(requests)).map(({ status }) => status))].join(' and ')
  }
  t.equal(await statuses(token), '400', 'every worker accepts the key as soon as the command exits')
  const listed = await server.command('keys', 'list')
  t.match(listed.stdout, /^brief +fetch +\(all\) +\d{4}-\d\d-\d\dT\d\d:\d\dZ +never, or within the last minute$/m)
  t.notOk(listed.stdout.includes(token), 'no token is listed')

  const rotated = await server.command('keys', 'rotate', 'brief', '--grace', '0s')
  t.equal(rotated.code, 0)
  const turned = rotated.stdout.trim()
  t.equal(await statuses(turned), '400', 'every worker accepts the new token')
  t.equal(await statuses(token), '401', 'every worker rejects the former token')

  const revoked = await server.command('keys', 'revoke', 'brief')
  t.strictSame([revoked.code, revoked.stderr], [0, ''])
  t.equal(await statuses(turned), '401', 'every worker rejects a revoked key')
  t.equal((await server.command('keys', 'revoke', 'brief')).code, 1, 'a key cannot be revoked twice')
})

t.test('keys list --json prints a line of JSON for each key', async (t) => {
  const dataDir = join(t.testdir(), 'db')
  const sinceMs = Date.now()
  const limits = ['--allow', 'fetch,set', '--under', 'a/b', '--under', 'c']
  await runCommand(['keys', 'add', 'one', '--create', ...limits, '--data', dataDir])
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

t.test('keys list shows the expiry, the rate and the grace of an old token if any key has them', async (t) => {
  const data = join(t.testdir(), 'db')
  const run = (...args: readonly string[]) => runCommand(['keys', ...args, '--data', data])
  await run('add', 'plain', '--create')
  t.match(
    (await run('list')).stdout,
    /^NAME +PERMISSIONS +UNDER +CREATED +LAST USED\nplain .* never, or within the last minute\n$/,
    'no unneeded column',
  )
  const sinceMs = Date.now()
  await run('add', 'limited', '--expires', '30d', '--rate', '1000000')
  await run('add', 'dated', '--expires', '2099-01-31T12:00:00Z')
  t.equal((await run('rotate', 'plain')).code, 0)
  const { stdout } = await run('list')
  const time = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ'
  for (const row of [
    'NAME .* LAST USED +EXPIRES +RATE +OLD TOKEN UNTIL',
    `limited .* never, or within the last minute +${time} +1000000/s +-`,
    'dated .* never, or within the last minute +2099-01-31T12:00:00Z +- +-',
    `plain .* never, or within the last minute +- +- +${time}`,
  ])
    t.match(stdout, new RegExp(`^${row}$`, 'm'), row)
  const lines = (await run('list', '--json')).stdout.trimEnd().split('\n')
  const [dated, limited = {}, plain = {}] = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  t.match(dated, { name: 'dated', expires: '2099-01-31T12:00:00.000Z', rate: undefined, oldTokenUntil: undefined })
  t.match(limited, { name: 'limited', rate: 1_000_000, oldTokenUntil: undefined })
  const inDays = (Date.parse(String(limited.expires)) - sinceMs) / 86_400_000
  t.ok(inDays >= 30 && inDays < 30.01, `${inDays} days from now`)
  t.match(plain, { name: 'plain', expires: undefined, rate: undefined })
  const inHours = (Date.parse(String(plain.oldTokenUntil)) - sinceMs) / 3_600_000
  t.ok(inHours >= 1 && inHours < 1.1, `by default an hour from now: ${inHours}`)
})

t.test('a missing or expired key cannot be rotated, and a second rotation invalidates the oldest token', async (t) => {
  const data = join(t.testdir(), 'db')
  const run = (...args: readonly string[]) => runCommand(['keys', ...args, '--data', data])
  await run('add', 'brief', '--create', '--expires', '1s')
  await run('add', 'a')
  t.match(await run('rotate', 'none'), { code: 1, stdout: '', stderr: 'topicd: there is no key named "none"\n' })
  t.match((await run('rotate', 'a')).stderr, /^topicd: the old token of "a" is valid until [\dTZ:-]+\n$/)
  const again = await run('rotate', 'a', '--grace', '10m')
  t.match(again, {
    code: 0,
    stderr: /^topicd: .* is valid until [\dTZ:-]+; the one before it, which was valid until .* expires now\n$/,
  })
  await until('the brief key has expired', async () => {
    const { code, stdout, stderr } = await run('rotate', 'brief')
    if (code === 0) return undefined
    t.match({ code, stdout, stderr }, { code: 1, stdout: '', stderr: /the key "brief" expired at .*add it again/ })
    return true
  })
})
