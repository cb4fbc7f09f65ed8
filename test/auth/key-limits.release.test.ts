/** Keys that expire, keys with two tokens, and keys with a rate, as clients see them. */
import t, { type Test } from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import type { Answer } from '../support/service/client.js'
import { scrape } from '../support/service/metrics.js'
import { overWorkers } from '../support/service/over-stores.js'
import { requestText } from '../support/service/raw.js'
import { type Server, until } from '../support/service/server.js'

const item = '{"path":"a","type":"json","value":1}'

await overWorkers(t, async (t, server) => {
  await server.post('addAndSet', { path: 'a', value: 1 })
  await t.test('every worker rejects a key after its expiry', (t) => ends(t, server))
  await t.test('both tokens are valid after a rotation until the old token expires', (t) => rotates(t, server))
  await t.test("a flood with one key is served at the key's rate, and requests beyond the rate get 429", (t) =>
    floods(t, server),
  )
  await t.test('the workers share the rate evenly', (t) => shares(t, server))
  await t.test('a request beyond the rate is rejected before its body is read, and its connection stays open', (t) =>
    refusesUnread(t, server),
  )
})

/** Responses to a fetch of `a` with this token, over every connection of the client. */
function everywhere(server: Server, token: string): Promise<Answer[]> {
  return Promise.all(
    Array.from({ length: server.client.connections }, () => server.post('fetch', { path: 'a' }, { token })),
  )
}

/** Waits until every worker rejects the token; returns the last responses. */
async function untilRefused(server: Server, token: string): Promise<Answer[]> {
  return until('the token is rejected everywhere', async () => {
    const answers = await everywhere(server, token)
    return answers.every(({ status }) => status === 401) ? answers : undefined
  })
}

async function ends(t: Test, server: Server): Promise<void> {
  const expiresMs = Date.now() + 2500
  const token = await server.addKey('brief', { expiresMs })
  const answers = await everywhere(server, token)
  if (Date.now() < expiresMs) for (const answer of answers) gives(t, answer, item, 'before its expiry')
  else t.comment('the machine was too slow to use the key before its expiry')
  const refused = await untilRefused(server, token)
  t.ok(Date.now() >= expiresMs, 'the key is not rejected earlier')
  for (const answer of refused) {
    refuses(t, answer, 401, 'unauthorized', 'after its expiry', 'its token has expired.')
    t.equal(answer.headers['www-authenticate'], 'Apikey')
  }
}

async function rotates(t: Test, server: Server): Promise<void> {
  const first = await server.addKey('turned', { allow: ['fetch'] })
  /** Rotates the key; returns the new token once every worker knows it. */
  async function rotate(grace: string, says: RegExp): Promise<string> {
    const { code, stdout, stderr } = await server.command('keys', 'rotate', 'turned', '--grace', grace)
    t.match({ code, stdout }, { code: 0, stdout: /^topicd_[\w-]{43}\n$/ })
    t.match(stderr, says)
    await server.knows(stdout.trim())
    return stdout.trim()
  }

  const second = await rotate('1h', /^topicd: the old token of "turned" is valid until [\dTZ:-]+\n$/)
  for (const token of [first, second]) {
    for (const answer of await everywhere(server, token)) gives(t, answer, item, 'both tokens fetch')
    const write = await server.post('set', { path: 'a', value: 2 }, { token })
    refuses(t, write, 403, 'forbidden_operation', 'no token has more permissions than before')
  }

  const third = await rotate(
    '2s',
    /is valid until [\dTZ:-]+; the one before it, which was valid until [\dTZ:-]+, expires now\n$/,
  )
  for (const { message } of await untilRefused(server, first))
    t.match(message, 'its token is unknown', 'the oldest token expires immediately')
  for (const { message } of await untilRefused(server, second))
    t.match(message, 'its token has expired', 'the former token expires after its grace')
  for (const answer of await everywhere(server, third)) gives(t, answer, item, 'the new token stays valid')

  const fourth = await rotate('0s', /^topicd: the old token of "turned" expires now\n$/)
  for (const { message } of await untilRefused(server, third))
    t.match(message, 'its token is unknown', 'without a grace the former token expires immediately')
  for (const answer of await everywhere(server, fourth)) gives(t, answer, item, 'the newest token stays valid')
}

async function floods(t: Test, server: Server): Promise<void> {
  const rate = 60
  const token = await server.addKey('busy', { rate })
  const before = await scrape(server.adminUrl)
  const startMs = performance.now()
  let requests = 0
  let allowed = 0
  const refused: Answer[] = []
  while (refused.length === 0 || performance.now() - startMs < 2000) {
    for (const answer of await everywhere(server, token)) {
      requests++
      if (answer.status === 200) allowed++
      else refused.push(answer)
    }
  }
  const seconds = (performance.now() - startMs) / 1000
  t.ok(allowed <= rate * (seconds + 1) + server.workers, `${allowed} of ${requests} in ${seconds.toFixed(1)} s`)
  t.ok(allowed >= rate / server.workers, 'a worker that rejects requests has allowed its share')
  for (const answer of refused.slice(0, 3)) {
    refuses(t, answer, 429, 'too_many_requests', 'beyond the rate', 'retry-after')
    t.equal(answer.headers['retry-after'], '1')
    t.not(answer.headers.connection, 'close')
  }
  const after = await scrape(server.adminUrl)
  const more = (name: string, labels: Record<string, string>): number =>
    after.value(name, labels) - before.value(name, labels)
  t.equal(more('topicd_rejected_total', { cause: 'too_many_requests' }), refused.length, 'the rejections')
  t.equal(more('topicd_key_requests_total', { key: 'busy' }), requests, 'all requests of the key')
  const others = Array.from({ length: 100 }, () => server.post('fetch', { path: 'a' }))
  t.ok(
    (await Promise.all(others)).every(({ status }) => status === 200),
    'a key without a rate is not limited',
  )
}

async function shares(t: Test, server: Server): Promise<void> {
  const token = await server.addKey('slow', { rate: 1 })
  const answer = await until('a request is rejected', async () => {
    return (await everywhere(server, token)).find(({ status }) => status === 429)
  })
  t.equal(answer.headers['retry-after'], String(server.workers), 'one per second over all workers')
  await until('another request is allowed', async () => {
    const answers = await everywhere(server, token)
    return answers.some(({ status }) => status === 200) || undefined
  })
}

async function refusesUnread(t: Test, server: Server): Promise<void> {
  const token = await server.addKey('raw', { rate: 1 })
  const connection = await server.raw()
  const body = '{"path":"a"}'
  const request = requestText('/topics/fetch', token, body)
  const head = request.slice(0, -body.length)
  let sent = 0
  const status = async (): Promise<number | undefined> => (await connection.answers(++sent)).at(-1)?.status
  await until('the worker has no requests left', async () => {
    await connection.write(request)
    return (await status()) === 429 || undefined
  })
  // Sent in the same bytes as another request: no time passes in between, so the rate allows no further request.
  await connection.write(request + head)
  sent++
  t.equal(await status(), 429, 'answered while the body is missing')
  await connection.write(body)
  await until('the same connection is served again', async () => {
    await connection.write(request)
    return (await status()) === 200 || undefined
  })
  connection.close()
}
