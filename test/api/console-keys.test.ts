/**
 * `/console/keys`: a key with the permission `admin` lists, creates, rotates and revokes API keys, but never grants more than it
 * has. Requests from other origins are rejected, and each change is logged.
 */
import t from 'tap'
import { hashToken } from '../../dist/auth/token.js'
import type { Right } from '../../dist/keys/record.js'
import { refuses } from '../support/expected-answers.js'
import type { Answer, Body } from '../support/service/client.js'
import { overStores } from '../support/service/over-stores.js'
import type { Server } from '../support/service/server.js'

const path = '/console/keys'

interface Entry {
  readonly name: string
  readonly token?: string
  readonly former_until?: string
}

const dayMs = 86_400_000

class Console {
  constructor(
    readonly server: Server,
    readonly token: string,
  ) {}

  send(body: Body, headers: Readonly<Record<string, string | undefined>> = {}): Promise<Answer> {
    return this.server.client.send(path, body, { token: this.token, headers })
  }

  async does(body: Body): Promise<Entry> {
    const answer = await this.send(body)
    if (answer.status !== 200) throw new Error(`${JSON.stringify(body)} was answered ${answer.text}`)
    return JSON.parse(answer.text) as Entry
  }

  async list(): Promise<readonly Entry[]> {
    return (JSON.parse((await this.send({ op: 'list' })).text) as { readonly keys: readonly Entry[] }).keys
  }

  async named(name: string): Promise<Entry | undefined> {
    return (await this.list()).find((key) => key.name === name)
  }
}

/** The token's statuses on every connection, and so in every worker. */
async function statuses(server: Server, token: string | undefined): Promise<string> {
  const sent = Array.from({ length: server.client.connections }, () => server.post('fetch', {}, { token: token ?? '' }))
  return [...new Set((await Promise.all(sent)).map(({ status }) => status))].join()
}

/** The status of a body without path and selector, if its key may fetch. */
const known = '400'

await overStores(t, async (t, server) => {
  const admin = async (name: string, allow: readonly Right[], limits = {}): Promise<Console> =>
    new Console(server, await server.addKey(name, { allow: [...allow, 'admin'], ...limits }))
  const full = await admin('full', ['fetch', 'set', 'add', 'remove'])
  const reader = await admin('reader', ['fetch'])

  await t.test('the permission `admin` is needed to administer keys and grants no other access', async (t) => {
    const plain = new Console(server, server.token)
    for (const body of [{ op: 'list' }, { op: 'revoke', name: 'reader' }])
      refuses(t, await plain.send(body), 403, 'forbidden_operation', body.op, 'administer')
    refuses(t, await new Console(server, 'none').send({ op: 'list' }), 401, 'unauthorized', 'an unknown key')
    const only = await server.addKey('only-admin', { allow: ['admin'] })
    refuses(t, await server.post('fetch', { path: 'a' }, { token: only }), 403, 'forbidden_operation', 'a fetch')
    const made = await new Console(server, only).send({ op: 'create', name: 'none' })
    refuses(t, made, 400, 'invalid_key', 'a new key without permissions for topics', 'allow')
  })

  await t.test('the list shows the names of keys and contains no token hash', async (t) => {
    await server.addKey('listed', { allow: ['set'], under: ['a/b'], expiresMs: Date.now() + dayMs, rate: 7 })
    const { headers, text } = await full.send({ op: 'list' })
    t.equal(headers['cache-control'], 'no-store')
    t.notMatch(text, /[0-9a-f]{64}|topicd_/)
    const times = { created: /^\d{4}-.*Z$/, expires: /^\d{4}-.*Z$/ }
    t.match(await full.named('listed'), { allow: ['set'], under: ['a/b'], ...times, rate: 7 })
  })

  await t.test('a new key has the limits of the key that created it, unless it is given stricter ones', async (t) => {
    const expiresMs = Date.now() + dayMs
    const limited = await admin('limited', ['fetch', 'set'], { expiresMs, rate: 50 })
    const made = await limited.does({ op: 'create', name: 'made' })
    const expires = new Date(expiresMs).toISOString()
    t.match(await full.named('made'), { allow: ['fetch', 'set'], under: [], rate: 50, expires })
    t.equal(await statuses(server, made.token), known)
    const less = { allow: ['fetch'], under: ['/x/', 'y'], expires: '1h', rate: 3 }
    await limited.does({ op: 'create', name: 'less', ...less })
    t.match(await full.named('less'), { ...less, under: ['x', 'y'], expires: /Z$/ })
    const second = await limited.does({ op: 'create', name: 'second-admin', allow: ['fetch', 'admin'] })
    const through = new Console(server, second.token ?? '')
    for (const [from, body, what] of [
      [limited, { op: 'create', name: 'more', allow: ['set', 'remove'] }, 'the permission remove'],
      [limited, { op: 'create', name: 'more', expires: '2d' }, 'a later expiry'],
      [limited, { op: 'create', name: 'more', rate: 51 }, 'a higher rate'],
      [through, { op: 'create', name: 'more', allow: ['set'] }, 'the permission set'],
      [limited, { op: 'rotate', name: 'reader' }, 'expiry'],
      [limited, { op: 'revoke', name: 'reader' }, 'expiry'],
      [through, { op: 'rotate', name: 'limited' }, 'rotate'],
      [through, { op: 'revoke', name: 'limited' }, 'revoke'],
    ] as const)
      refuses(t, await from.send(body), 403, 'forbidden_operation', JSON.stringify(body), what)
    t.equal(await full.named('more'), undefined)
  })

  await t.test('a key with subtrees cannot have the permission `admin`, regardless of its creator', async (t) => {
    const both = { op: 'create', name: 'both', allow: ['admin'], under: ['a'] }
    refuses(t, await full.send(both), 400, 'invalid_key', 'in the console', 'subtrees')
    const record = { name: 'both', tokenHash: hashToken('x'), allow: ['admin'], under: ['a'], madeMs: 0 }
    await t.rejects(server.request({ command: 'addKey', record: record as never }), /subtrees/)
    t.equal(await full.named('both'), undefined)
  })

  await t.test('a rotation or revocation is in effect in every worker when its response arrives', async (t) => {
    const { token } = await full.does({ op: 'create', name: 'turned', allow: ['fetch'] })
    const first = await full.does({ op: 'rotate', name: 'turned', keep_former_for: '1h' })
    t.match(first.former_until, /Z$/)
    t.strictSame([await statuses(server, token), await statuses(server, first.token)], [known, known])
    const second = await full.does({ op: 'rotate', name: 'turned', keep_former_for: '0s' })
    t.equal(second.former_until, undefined)
    for (const old of [token, first.token]) t.equal(await statuses(server, old), '401', 'a former token')
    t.equal(await statuses(server, second.token), known)
    const both = await Promise.all([1, 2].map(() => full.send({ op: 'rotate', name: 'turned' })))
    t.ok(both.some(({ status }) => status === 200))
    for (const answer of both.filter(({ status }) => status !== 200))
      refuses(t, answer, 409, 'key_conflict', 'the other of two rotations')
    t.match(await full.send({ op: 'revoke', name: 'turned' }), { status: 200, text: '{"name":"turned"}' })
    for (const { text } of both) t.equal(await statuses(server, (JSON.parse(text) as Entry).token ?? 'none'), '401')
    await server.addKey('gone', { expiresMs: Date.now() - 1 })
    for (const [op, name, what] of [
      ['rotate', 'turned', 'no API key named "turned"'],
      ['rotate', 'gone', 'expired at'],
      ['create', 'reader', 'an API key named "reader" already exists'],
    ] as const)
      refuses(t, await full.send({ op, name }), 409, 'key_conflict', name, what)
  })

  await t.test('a key can rotate and revoke itself', async (t) => {
    const own = await admin('own', ['fetch'])
    const { token = '' } = await own.does({ op: 'rotate', name: 'own', keep_former_for: '10m' })
    t.equal(await statuses(server, own.token), known, 'the former token')
    const next = new Console(server, token)
    t.equal((await own.send({ op: 'revoke', name: 'own' })).status, 200)
    for (const { token } of [own, next]) t.equal(await statuses(server, token), '401')
    refuses(t, await next.send({ op: 'create', name: 'late' }), 401, 'unauthorized', 'afterwards')
  })

  await t.test('a revoked key cannot create further keys', async (t) => {
    const thief = await admin('thief', ['fetch'])
    await thief.does({ op: 'create', name: 'loot' })
    let isRevoked = false
    let count = 0
    const creating = Array.from({ length: server.client.connections }, async () => {
      for (;;) {
        const wasRevoked = isRevoked
        const { status } = await thief.send({ op: 'create', name: `loot-${count++}` })
        if (status === 401 || (wasRevoked && status === 200)) return status
      }
    })
    // A worker rejects requests while four wait for the primary.
    while ((await full.send({ op: 'revoke', name: 'thief' })).status === 503);
    isRevoked = true
    t.strictSame([...new Set(await Promise.all(creating))], [401], 'no request after the revocation creates a key')
  })

  await t.test('every member of a request to change a key is validated', async (t) => {
    const create = { op: 'create', name: 'x' }
    for (const [body, code, mention] of [
      [{}, 'missing_parameter', 'op'],
      [{ op: 'list', name: 'x' }, 'unknown_parameter', 'name'],
      [{ op: 'add', name: 'x' }, 'invalid_parameter', '"create"'],
      [{ op: 'toString', name: 'x' }, 'invalid_parameter', 'op'],
      [{ op: ['create'], name: 'x' }, 'invalid_parameter', 'op'],
      ['{"op":"revoke","op":"create","name":"x"}', 'duplicate_parameter', 'op'],
      ['{"op":"create","name":"x","__proto__":{"allow":["set"]}}', 'unknown_parameter', '__proto__'],
      [{ ...create, name: 'x'.repeat(65) }, 'invalid_parameter', '64'],
      [{ ...create, name: 'reader\n' }, 'invalid_parameter', 'name'],
      [{ ...create, allow: [] }, 'invalid_key', 'each once'],
      [{ ...create, allow: ['FETCH'] }, 'invalid_parameter', 'allow[0]'],
      [{ ...create, under: ['a', ''] }, 'invalid_path', 'under[1]'],
      [{ ...create, expires: '0s' }, 'invalid_key', 'future'],
      [{ ...create, rate: 0 }, 'invalid_parameter', 'rate'],
      [{ ...create, rate: 1_000_001 }, 'invalid_parameter', 'rate'],
      [{ ...create, tokenHash: hashToken('mine') }, 'unknown_parameter', 'tokenHash'],
      [{ ...create, keep_former_for: '1h' }, 'unknown_parameter', 'keep_former_for'],
      [{ op: 'rotate', name: 'x', allow: ['fetch'] }, 'unknown_parameter', 'allow'],
      [{ op: 'rotate', name: 'x', keep_former_for: '1y' }, 'invalid_key', 'period'],
      [{ op: 'revoke', name: 'x', under: [] }, 'unknown_parameter', 'under'],
    ] as const)
      refuses(t, await full.send(body), 400, code, typeof body === 'string' ? body : JSON.stringify(body), mention)
    const large = await full.send({ ...create, under: ['a'.repeat(9000)] })
    refuses(t, large, 413, 'body_too_large', 'a large body', '8192')
    t.equal(await full.named('x'), undefined)
  })

  await t.test("a request from another origin's page is rejected, and the page cannot read the response", async (t) => {
    const { host } = new URL(server.url)
    const body = { op: 'create', name: 'stolen' }
    for (const headers of [
      ...['https://evil.example', `http://${host}0`, `http://${host}@evil.example`, `ftp://${host}`, host, 'null'].map(
        (origin) => ({ origin }),
      ),
      { origin: `http://${host}`, 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      const refused = await full.send(body, headers)
      refuses(t, refused, 403, 'cross_origin', JSON.stringify(headers))
      t.notOk(Object.keys(refused.headers).some((name) => name.startsWith('access-control')))
    }
    refuses(t, await full.send(body, { 'content-type': 'text/plain' }), 415, 'unsupported_media_type', 'a form')
    const own = { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }
    t.equal((await full.send({ op: 'list' }, own)).status, 200)
    t.equal(await full.named('stolen'), undefined)
  })

  await t.test('each change to a key is logged without its token', async (t) => {
    const { token = '' } = await full.does({ op: 'create', name: 'audited', allow: ['fetch'] })
    await full.send({ op: 'rotate', name: 'audited' }, { 'x-forwarded-for': `203.0.113.9${' '.repeat(500)}` })
    await reader.send({ op: 'rotate', name: 'full' })
    await full.does({ op: 'revoke', name: 'audited' })
    for (const [by, change, key, line] of [
      ['full', 'create', 'audited', { outcome: 'done', allow: ['fetch'] }],
      ['full', 'rotate', 'audited', { outcome: 'done', forwardedFor: /^203/ }],
      ['full', 'revoke', 'audited', { outcome: 'done' }],
      ['reader', 'rotate', 'full', { outcome: 'refused' }],
    ] as const) {
      const found = await server.logged(
        'API key change',
        (line) => line.change === change && line.key === key && line.by === by,
      )
      t.match(found, { from: 'console', address: '127.0.0.1', ...line })
    }
    for (const secret of [token, hashToken(token), full.token, hashToken(full.token)])
      t.notOk(server.output.includes(secret) && secret !== server.token)
  })
})
