/**
 * Each outcome of a change of an API key has its answer: a token is in it only if the key has it, and what is not known is not
 * called undone. The primary is simulated; api/console-keys asks a real one.
 */
import t from 'tap'
import { createKeyRoutes, type RefusedChange } from '../../dist/api/console/keys.js'
import type { Access } from '../../dist/auth/access.js'
import type { Answer } from '../../dist/http/answer.js'
import type { KeyRecord, ListedKey } from '../../dist/keys/record.js'
import { type KeyRequest, type KeyResponse, NothingDone } from '../../dist/keys/requests.js'

const maker: KeyRecord = { name: 'maker', tokenHash: 'a'.repeat(64), allow: ['fetch', 'admin'], under: [], madeMs: 1 }
const other: ListedKey = { ...maker, name: 'other', tokenHash: 'b'.repeat(64), allow: ['fetch'] }
const peer = { address: '127.0.0.1', forwardedFor: '' }
const sender = { ...peer, authorization: 'Apikey secret' }

/** Sends a change to a primary that responds so, and lists these keys first and then `later`. */
async function changed(body: object, respond: () => KeyResponse, later: readonly ListedKey[] = [other]) {
  const refused: RefusedChange[] = []
  let lists = 0
  const primary = {
    keysFor: (from: object) => async (request: KeyRequest) => {
      t.strictSame(from, peer, 'the token of the caller stays here')
      return request.command === 'listKeys' ? { response: lists++ === 0 ? [other] : later } : respond()
    },
    overview: () => Promise.reject(new Error('not asked')),
  }
  const { route } = createKeyRoutes({
    path: '/console/keys',
    identify: () => ({ refused: { status: 401, body: '' } }),
    primary: primary as never,
    onKeyChange: (change) => refused.push(change),
  })
  const access = { name: 'maker', record: maker } as Access
  const bytes = Buffer.from(JSON.stringify(body))
  const answer = (await route.handle(bytes, access, { sender } as never)) as Answer
  return { status: answer.status, headers: answer.headers, refused, ...(JSON.parse(String(answer.body)) as object) }
}

const changes = {
  create: { op: 'create', name: 'new' },
  rotate: { op: 'rotate', name: 'other' },
  revoke: { op: 'revoke', name: 'other' },
} as const

const failing = (error: Error) => (): never => {
  throw error
}

t.test('what was done is answered, with the workers that are late', async (t) => {
  const done = (): KeyResponse => ({ response: true, late: [7] })
  const noStore = [['cache-control', 'no-store']]
  for (const op of ['create', 'rotate'] as const)
    t.match(await changed(changes[op], done), { status: 200, headers: noStore, token: /^topicd_/, late: [7] }, op)
  t.match(await changed(changes.revoke, done), { status: 200, headers: noStore, revoked: true, late: [7] })
})

t.test('what was not done is answered without a token', async (t) => {
  for (const [op, response, status, code] of [
    ['create', false, 409, 'key_exists'],
    ['create', 'token_taken', 409, 'key_changed'],
    ['create', 'forbidden', 403, 'forbidden_key'],
    ['rotate', false, 409, 'key_changed'],
    ['revoke', false, 409, 'key_changed'],
  ] as const) {
    const answer = await changed(changes[op], () => ({ response }))
    t.match(answer, { status, code }, `${op}: ${response}`)
    t.notOk('token' in answer)
  }
})

t.test('a key that is gone is revoked, whoever did it', async (t) => {
  t.match(await changed(changes.revoke, () => ({ response: false }), []), { status: 200, revoked: true })
})

t.test('a failure says whether anything can have changed', async (t) => {
  for (const op of ['create', 'rotate', 'revoke'] as const) {
    const undone = await changed(changes[op], failing(new NothingDone('the disk is full')))
    t.match(undone, { status: 503, code: 'console_unavailable', message: /nothing was changed: the disk is full/ }, op)
    const unknown = await changed(changes[op], failing(new Error('process 7 ended')))
    t.match(unknown, { status: 503, code: 'unknown_key_outcome', message: /may have been changed/ }, op)
    for (const answer of [undone, unknown]) t.notOk('token' in answer)
  }
})

t.test('a refusal is noted with its code, and not the text of the caller', async (t) => {
  const refused = await changed({ op: 'create', name: 'more', allow: ['set'] }, failing(new Error('not asked')))
  t.match(refused, { status: 403, code: 'forbidden_key' })
  t.strictSame(refused.refused, [
    { change: 'create', key: 'more', by: 'maker', peer, outcome: 'refused: forbidden_key' },
  ])
})
