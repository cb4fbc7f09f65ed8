/**
 * Each outcome of an API key change has its response: it contains a token only if the key has that token, and an unknown
 * outcome is never reported as undone. The primary is simulated; api/console-keys uses a real one.
 */
import t from 'tap'
import { createKeysRoute } from '../../dist/api/console/keys.js'
import type { Answer } from '../../dist/http/answer.js'
import type { KeyRecord } from '../../dist/keys/record.js'
import { type KeyRequest, NothingDone } from '../../dist/keys/requests.js'

const record: KeyRecord = { name: 'maker', tokenHash: 'a'.repeat(64), allow: ['fetch', 'admin'], under: [], madeMs: 1 }

/** Requests a change from a primary that lists these keys and answers every other command with `respond`. */
async function changed(op: string, respond: () => unknown, names = ['other']) {
  const keys = async ({ command, by }: KeyRequest) => {
    t.notOk(JSON.stringify(by).includes('secret'), "the caller's token is not sent to the primary")
    const listed = names.map((name) => ({ ...record, name, allow: ['fetch'] }))
    return command === 'listKeys' ? { response: listed } : { response: await respond(), late: [7] }
  }
  const sender = { address: '127.0.0.1', forwardedFor: '', authorization: 'Apikey secret' }
  const body = Buffer.from(JSON.stringify({ op, name: op === 'create' ? 'new' : 'other' }))
  const route = createKeysRoute('/console/keys', { keys } as never)
  const answer = (await route.handle(body, { record } as never, { sender } as never)) as Answer
  return { status: answer.status, headers: answer.headers, ...(JSON.parse(String(answer.body)) as object) }
}

t.test('a completed key change returns its result and the workers that did not respond', async (t) => {
  const done = { status: 200, headers: [['cache-control', 'no-store']], late: [7] }
  for (const op of ['create', 'rotate']) t.match(await changed(op, () => true), { ...done, token: /^topicd_/ }, op)
  t.match(await changed('revoke', () => true), done)
  t.match(await changed('revoke', () => false, []), done, 'a key that is already gone')
})

t.test('a key change that failed or has an unknown outcome returns no token', async (t) => {
  const failing = (error: Error) => () => Promise.reject(error)
  const undone = /the disk is full; nothing was changed/
  const unknown = /process 7 ended; .* may or may not have been changed/
  for (const op of ['create', 'rotate', 'revoke'])
    for (const [respond, status, code, message] of [
      [() => false, 409, 'key_conflict', op === 'create' ? /already/ : /at the same time/],
      [failing(new NothingDone('the disk is full')), 503, 'console_unavailable', undone],
      [failing(new Error('process 7 ended')), 503, 'console_unavailable', unknown],
      ...(op === 'create' ? ([[() => 'forbidden', 409, 'key_conflict', /at the same time/]] as const) : []),
    ] as const) {
      const answer = await changed(op, async () => respond())
      t.match(answer, { status, code, message }, op)
      t.notOk('token' in answer)
    }
})
