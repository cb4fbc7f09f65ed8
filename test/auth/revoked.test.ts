/**
 * The key is looked up again when the end of a body arrives: an upload that began before a revocation, or before the
 * key's end, is refused.
 */
import t from 'tap'
import { refuses } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'
import { until } from '../support/service/server.js'

await overStores(
  t,
  async (t, server) => {
    const body = '{"path":"late","value":1}'
    const half = body.length >> 1
    const head = (token: string, ...framing: readonly string[]) =>
      [
        'POST /topics/addAndSet HTTP/1.1',
        'host: x',
        `authorization: Apikey ${token}`,
        'content-type: application/json',
        ...framing,
        '',
        '',
      ].join('\r\n')
    const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

    /** Begins an upload with its own key, revokes the key, and completes the upload once no worker accepts the key. */
    async function uploadAcrossRevocation(name: string, before: (token: string) => string, after: string) {
      const token = await server.addKey(name)
      const connection = await server.raw()
      await connection.write(before(token))
      await server.command('keys', 'revoke', name)
      await until('the key is refused by every worker', async () => {
        const answers = Array.from({ length: server.client.connections }, () => server.post('fetch', {}, { token }))
        return (await Promise.all(answers)).every(({ status }) => status === 401) || undefined
      })
      await connection.write(after)
      const answer = await connection.answer()
      connection.close()
      return answer
    }

    const length = `content-length: ${body.length}`
    const chunked = 'transfer-encoding: chunked'
    for (const [expectation, before, after] of [
      ['after its first half', (token: string) => head(token, length) + body.slice(0, half), body.slice(half)],
      ['before its last byte', (token: string) => head(token, length) + body.slice(0, -1), body.slice(-1)],
      ['after its first chunk', (token: string) => head(token, chunked) + chunk(body), '0\r\n\r\n'],
    ] as const) {
      await t.test(`an upload whose key is revoked ${expectation} is refused`, async (t) => {
        const answer = await uploadAcrossRevocation(`key-${expectation.replaceAll(' ', '-')}`, before, after)
        t.match(answer, { status: 401, body: /"unauthorized".*its token is not known/ })
        refuses(t, await server.post('fetch', { path: 'late' }), 400, 'no_such_topic', 'nothing was written')
      })
    }

    await t.test('an upload whose key ends before its last byte is refused', async (t) => {
      const token = await server.addKey('brief', { expiresMs: Date.now() + 2000 })
      const connection = await server.raw()
      await connection.write(head(token, length) + body.slice(0, -1))
      await until('the key is refused by every worker', async () => {
        const answers = Array.from({ length: server.client.connections }, () => server.post('fetch', {}, { token }))
        return (await Promise.all(answers)).every(({ status }) => status === 401) || undefined
      })
      await connection.write(body.slice(-1))
      t.match(await connection.answer(), { status: 401, body: /"unauthorized".*its token has expired/ })
      connection.close()
      refuses(t, await server.post('fetch', { path: 'late' }), 400, 'no_such_topic', 'nothing was written')
    })

    await t.test('an upload in pieces counts once against a rate', async (t) => {
      const token = await server.addKey('piecewise', { rate: 2 * server.workers })
      const connection = await server.raw()
      for (let upload = 1; upload <= 2; upload++) {
        await connection.write(head(token, length) + body.slice(0, half))
        await server.post('fetch', { path: 'late' })
        await connection.write(body.slice(half))
        t.equal((await connection.answers(upload)).length, upload)
      }
      const answers = await connection.answers(2)
      t.strictSame(
        answers.map(({ status }) => status),
        [200, 200],
      )
      connection.close()
      await server.post('remove', { path: 'late' })
    })
  },
  { store: 'lmdb' },
)
