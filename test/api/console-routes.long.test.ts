/**
 * The console's own routes beside the settings and processes of a service: below a base path, without a policy on origins even
 * if there is one, absent with the console, and refused in time by a primary that does not answer. And the service at a glance.
 */
import { join } from 'node:path'
import t from 'tap'
import { refuses } from '../support/expected-answers.js'
import { overwriteModule, patchedProgram } from '../support/faults/patched.js'
import { type Server, startServer, until } from '../support/service/server.js'

const directory = t.testdir()

async function adminOf(server: Server): Promise<string> {
  return server.addKey('admin', { allow: ['fetch', 'admin'] })
}

const get = (url: string, token: string, headers = {}) =>
  fetch(url, { headers: { authorization: `Apikey ${token}`, ...headers } })

await t.test('a policy on origins does not hold for them', async (t) => {
  const flags = ['--cors-origins', '*', '--base-path', '/x']
  const server = await startServer(t, { workers: 2, dataDir: join(directory, 'cors'), flags })
  const token = await adminOf(server)
  const origin = 'https://app.example'
  const preflight = { origin, 'access-control-request-method': 'POST' }
  const shared = (headers: Headers): string[] =>
    [...headers.keys()].filter((name) => /^access-control|^vary/.test(name))
  const { host } = new URL(server.url)
  for (const path of ['/console/keys', '/console/overview']) {
    const url = server.url + path
    for (const [answer, status] of [
      [await get(url, token), 200],
      [await get(url, token, { origin: `http://${host}` }), 200],
      [await get(url, token, { origin }), 403],
      [await fetch(url, { method: 'OPTIONS', headers: preflight }), 405],
      [await fetch(url, { method: 'DELETE', headers: { origin } }), 405],
      [await get(url, 'none'), 401],
      [await get(url, server.token), path === '/console/keys' ? 403 : 200],
    ] as const) {
      t.equal(answer.status, status, path)
      t.strictSame(shared(answer.headers), [])
    }
  }
  const head = await fetch(`${server.url}/console/keys`, {
    method: 'HEAD',
    headers: { authorization: `Apikey ${token}` },
  })
  t.equal(head.status, 200)
  const refused = await server.client.send('/console/keys', '{}', { token, headers: { origin } })
  t.notMatch(Object.keys(refused.headers).join(), /access-control/)
  t.equal((await fetch(`${server.url}/topics/fetch`, { method: 'OPTIONS', headers: preflight })).status, 204)
})

await t.test('they are absent without the console', async (t) => {
  const server = await startServer(t, { dataDir: join(directory, 'without'), flags: ['--no-console'] })
  const token = await adminOf(server)
  for (const path of ['/console/keys', '/console/overview']) {
    t.equal((await get(server.url + path, token)).status, 404)
    refuses(t, await server.client.send(path, '{}', { token }), 404, 'unknown_route', path)
  }
})

await t.test('a primary of an earlier version is not asked', async (t) => {
  const program = patchedProgram(join(directory, 'earlier'), 'main.js', "import './sound-main.js'\n")
  const module = 'cluster/primary/supervisor.js'
  const text = overwriteModule(program, module, '')
  overwriteModule(program, module, text.replace('repliesToWorkers: true', 'announcesKeys: true'))
  const server = await startServer(t, { program, dataDir: join(directory, 'earlier', 'db') })
  const token = await adminOf(server)
  const change = await server.client.send('/console/keys', { op: 'revoke', name: 'first' }, { token })
  refuses(t, change, 503, 'console_unavailable', 'a change', 'restarted')
  for (const path of ['/console/keys', '/console/overview'])
    t.equal((await get(server.url + path, token)).status, 503, path)
})

await t.test('the service at a glance is for keys that may fetch everything', async (t) => {
  const server = await startServer(t, { workers: 2, dataDir: join(directory, 'overview') })
  const overview = async (token = server.token) => {
    const answer = await get(`${server.url}/console/overview`, token)
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
  for (const limits of [{ allow: ['set', 'admin'] }, { under: ['a'] }] as const) {
    const token = await server.addKey(Object.keys(limits).join(), limits)
    t.equal((await overview(token)).status, 403)
  }
  await server.post('addAndSet', { path: 'a', value: 1 })
  const first = await overview()
  t.match(first, {
    status: 200,
    body: { version: /^\d/, started: /Z$/, ready: true, problems: [], topics: Number, streams: 0, polls: 0 },
  })
  const known = await until('a later reading, with a rate', async () => {
    await server.post('fetch', { path: 'a' })
    const { body } = await overview()
    return typeof body.requests_per_second === 'number' && body.topics === 1 ? body : undefined
  })
  t.ok(Number(known.connections) > 0)
})

await t.test('a key learns whether it may administer keys, and when it expires', async (t) => {
  const server = await startServer(t, { dataDir: join(directory, 'key') })
  const expiresMs = Date.now() + 86_400_000
  const token = await server.addKey('brief', { allow: ['fetch', 'admin'], expiresMs })
  t.match(await (await get(`${server.url}/console/key`, token)).json(), {
    allow: ['fetch', 'admin'],
    expires: new Date(expiresMs).toISOString(),
  })
  t.notOk('expires' in ((await (await get(`${server.url}/console/key`, server.token)).json()) as object))
})
