/**
 * The key is looked up again when the end of a body arrives: an upload that started before the key's revocation or expiry is
 * rejected.
 */
import t from 'tap'
import { refuses } from '../support/expected-answers.js'
import { chunkedText } from '../support/service/last-requests.js'
import { overStores } from '../support/service/over-stores.js'
import { requestText } from '../support/service/raw.js'
import { until } from '../support/service/server.js'

await overStores(
  t,
  async (t, server) => {
    const body = '{"path":"late","value":1}'
    const half = body.length >> 1
    const request = (token: string) => requestText('/topics/addAndSet', token, body)
    const chunked = (token: string) => chunkedText(token, body).replace('/fetch', '/addAndSet')
    const lastChunk = '0\r\n\r\n'

    const refusedEverywhere = (token: string) =>
      until('every worker rejects the key', async () => {
        const answers = Array.from({ length: server.client.connections }, () => server.post('fetch', {}, { token }))
        return (await Promise.all(answers)).every(({ status }) => status === 401) || undefined
      })

    /** Starts an upload with its own key, revokes the key, and completes the upload once no worker accepts the key. */
    async function uploadAcrossRevocation(name: string, before: (token: string) => string, after: string) {
      const token = await server.addKey(name)
      const connection = await server.raw()
      await connection.write(before(token))
      await server.command('keys', 'revoke', name)
      await refusedEverywhere(token)
      await connection.write(after)
      const answer = await connection.answer()
      connection.close()
      return answer
    }

    for (const [expectation, before, after] of [
      ['after its first half', (token: string) => request(token).slice(0, half - body.length), body.slice(half)],
      ['before its last byte', (token: string) => request(token).slice(0, -1), body.slice(-1)],
      ['before its last chunk', (token: string) => chunked(token).slice(0, -lastChunk.length), lastChunk],
    ] as const) {
      await t.test(`an upload whose key is revoked ${expectation} is rejected`, async (t) => {
        const answer = await uploadAcrossRevocation(`key-${expectation.replaceAll(' ', '-')}`, before, after)
        t.match(answer, { status: 401, body: /"unauthorized".*its token is unknown/ })
        refuses(t, await server.post('fetch', { path: 'late' }), 400, 'no_such_topic', 'nothing was written')
      })
    }

    await t.test('an upload whose key expires before its last byte is rejected', async (t) => {
      const token = await server.addKey('brief', { expiresMs: Date.now() + 2000 })
      const connection = await server.raw()
      await connection.write(request(token).slice(0, -1))
      await refusedEverywhere(token)
      await connection.write(body.slice(-1))
      t.match(await connection.answer(), { status: 401, body: /"unauthorized".*its token has expired/ })
      connection.close()
      refuses(t, await server.post('fetch', { path: 'late' }), 400, 'no_such_topic', 'nothing was written')
    })

    await t.test('an upload in pieces counts as one request towards the rate', async (t) => {
      const token = await server.addKey('piecewise', { rate: 2 * server.workers })
      const connection = await server.raw()
      for (let upload = 1; upload <= 2; upload++) {
        await connection.write(request(token).slice(0, half - body.length))
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
