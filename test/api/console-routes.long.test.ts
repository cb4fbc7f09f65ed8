/**
 * The console's own routes and the rest of a service: below a base path, unaffected by a policy on origins, absent without the
 * console, and unavailable with a primary of an earlier version. Also tests the overview.
 */
import { join } from 'node:path'
import t from 'tap'
import { refuses } from '../support/expected-answers.js'
import { patchedProgram } from '../support/faults/patched.js'
import { type Server, startServer } from '../support/service/server.js'

const directory = t.testdir()

async function adminOf(server: Server): Promise<string> {
  return server.addKey('admin', { allow: ['fetch', 'admin'] })
}

const list = '{"op":"list"}'

const sent = (token: string) => ({ authorization: `Apikey ${token}`, 'content-type': 'application/json' })

const get = (url: string, token: string) => fetch(url, { headers: sent(token) })

await t.test("the setting for allowed origins does not affect the console's routes", async (t) => {
  const flags = ['--cors-origins', '*', '--base-path', '/x']
  const server = await startServer(t, { workers: 2, dataDir: join(directory, 'cors'), flags })
  const token = await adminOf(server)
  const origin = 'https://app.example'
  const send = (path: string, method: string, token: string, headers = {}) =>
    fetch(server.url + path, { method, headers: { ...sent(token), ...headers }, body: method === 'POST' ? list : null })
  for (const [path, method] of [
    ['/console/keys', 'POST'],
    ['/console/overview', 'GET'],
  ] as const)
    for (const [answer, status] of [
      [await send(path, method, token, { origin: new URL(server.url).origin }), 200],
      [await send(path, method, token, { origin }), 403],
      [await send(path, 'OPTIONS', token, { origin, 'access-control-request-method': method }), 405],
      [await send(path, 'DELETE', token, { origin }), 405],
      [await send(path, method, 'none'), 401],
    ] as const) {
      t.equal(answer.status, status, path)
      t.notMatch([...answer.headers.keys()].join(), /access-control|vary/)
    }
  const preflight = { origin, 'access-control-request-method': 'POST' }
  t.equal((await send('/topics/fetch', 'OPTIONS', token, preflight)).status, 204)
})

await t.test("the console's routes do not exist if the console is off", async (t) => {
  const server = await startServer(t, { dataDir: join(directory, 'without'), flags: ['--no-console'] })
  const token = await adminOf(server)
  refuses(t, await server.client.send('/console/keys', list, { token }), 404, 'unknown_route', 'the keys')
  t.equal((await get(`${server.url}/console/overview`, token)).status, 404)
})

await t.test("the console's routes return 503 if the primary runs an earlier version", async (t) => {
  const earlier = `import { parseRequest as parse } from './sound-protocol.js'
    export * from './sound-protocol.js'
    const problem = 'the request is malformed: it has an unknown member'
    export const parseRequest = (line) => (/"by"|"overview"/.test(line) ? { problem } : parse(line))`
  const program = patchedProgram(join(directory, 'earlier'), 'cluster/control/protocol.js', earlier)
  const server = await startServer(t, { program, dataDir: join(directory, 'earlier', 'db') })
  const token = await adminOf(server)
  const refused = await server.client.send('/console/keys', list, { token })
  refuses(t, refused, 503, 'console_unavailable', 'the keys', 'restart it')
  t.equal((await get(`${server.url}/console/overview`, token)).status, 503)
})

await t.test('a key can read its limits and, if it may fetch every topic, the overview of the service', async (t) => {
  const server = await startServer(t, { workers: 2, dataDir: join(directory, 'overview') })
  const read = async (route: string, token = server.token) => {
    const answer = await get(`${server.url}/console/${route}`, token)
    return { status: answer.status, body: (await answer.json()) as object }
  }
  for (const limits of [{ allow: ['set', 'admin'] }, { under: ['a'] }] as const)
    t.match(await read('overview', await server.addKey(Object.keys(limits).join(), limits)), { status: 403 })
  await server.post('addAndSet', { path: 'a', value: 1 })
  const shown = {
    version: /^\d/,
    started: /Z$/,
    ready: true,
    problems: [],
    topics: 1,
    streams: 0,
    connections: Number,
  }
  t.match(await read('overview'), { status: 200, body: shown })

  const expiresMs = Date.now() + 86_400_000
  const brief = await server.addKey('brief', { allow: ['fetch', 'admin'], expiresMs })
  const known = { allow: ['fetch', 'admin'], expires: new Date(expiresMs).toISOString() }
  t.match((await read('key', brief)).body, known)
  t.notOk('expires' in (await read('key')).body)
})
