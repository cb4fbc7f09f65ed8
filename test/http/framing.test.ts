/**
 * Requests with a missing or ambiguous end are rejected, as JSON where possible, and their connection is closed, so that
 * the following bytes are never taken for a request. Also tests expectations, and encodings of the body.
 */

import t, { type Test } from 'tap'
import { only } from '../support/elements.js'
import { refuses } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'
import { barrier, headText, requestText } from '../support/service/raw.js'

await overStores(
  t,
  async (t, server) => {
    const { post, token } = server
    const head = (...headers: readonly string[]) => headText('/topics/add', token, ...headers)
    const body = '{"path":"doubtful"}'
    const hidden = requestText('/topics/add', token, '{"path":"hidden"}')

    const chunks = (framing: string) => `${head(framing)}13\r\n${body}\r\n0\r\n\r\n`
    const sized = 'content-length: 19'
    const chunked = 'transfer-encoding: chunked'
    const notExecuted = async (t: Test, expectation: string) => {
      for (const path of ['hidden', 'doubtful'])
        refuses(t, await post('fetch', { path }), 400, 'no_such_topic', `${expectation}: ${path} is not executed`)
    }

    for (const [expectation, text, status, code] of [
      ['no length', head(), 411, 'length_required'],
      ['two lengths', head(sized, 'content-length: 5') + body, 400, 'invalid_framing'],
      ['two lengths that agree', head(sized, sized) + body, 400, 'invalid_framing'],
      ['a length of too many digits', head('content-length: 0000000000000019') + body, 400, 'invalid_framing'],
      ['an encoding before chunks', chunks('transfer-encoding: gzip, chunked'), 400, 'invalid_framing'],
      ['the transfer encoding identity', head('transfer-encoding: identity'), 400, 'invalid_framing'],
      ['two headers for chunks', chunks(`${chunked}\r\n${chunked}`), 400, 'invalid_framing'],
      ['chunks twice in one header', chunks(`${chunked}, chunked`), 400, 'invalid_framing'],
      ['an unknown expectation', head('expect: the best', sized), 417, 'expectation_failed'],
      ['an unknown expectation, with chunks', head('Expect: 200-ok', chunked), 417, 'expectation_failed'],
      ['two expectations', head('expect: 100-continue', 'expect: x', sized), 417, 'expectation_failed'],
    ] as const) {
      await t.test(`${expectation}: returns ${status} and closes the connection`, async (t) => {
        const connection = await server.raw()
        await connection.write(text)
        await connection.closed
        connection.received = connection.received.replace('HTTP/1.1 100 Continue\r\n\r\n', '')
        const answer = only(await connection.answers(1))
        t.equal(answer.status, status, connection.received)
        t.match(answer.head, /\r\ncontent-type: application\/json/)
        t.match(answer.head, /\r\nconnection: close/)
        t.equal((JSON.parse(answer.body) as { code: string }).code, code)

        const followed = await server.raw()
        await followed.write(text + hidden)
        await barrier(server)
        followed.end()
        await followed.closed
        await notExecuted(t, expectation)
      })
    }

    await t.test('an upload with a length of 0 closes its connection', async (t) => {
      const connection = await server.raw()
      await connection.write(head('content-length: 0').replace('/add', '/batch').replace('/json', '/x-ndjson'))
      const answer = await connection.answer()
      t.match(answer, { status: 200, head: /\r\nconnection: close/, body: '{"done":true' })
      await connection.closed
    })

    await t.test('invalid framing gets the same response on an unknown route and with another method', async (t) => {
      for (const text of [
        head('content-length: 1', 'content-length: 1').replace('/topics/add', '/none'),
        head('transfer-encoding: x').replace('POST', 'GET'),
      ]) {
        const connection = await server.raw()
        await connection.write(text)
        t.match(await connection.answer(), { status: 400, body: /invalid_framing/ })
        await connection.closed
      }
    })

    await t.test('the HTTP library itself rejects some invalid framing, with a 400 that is not JSON', async (t) => {
      for (const [expectation, text] of [
        ['a list of lengths', head('content-length: 19, 19') + body],
        ['a length with a sign', head('content-length: +19') + body],
        ['a length and chunks', chunks(`${sized}\r\n${chunked}`)],
      ] as const) {
        const connection = await server.raw()
        await connection.write(text + hidden)
        await connection.closed
        t.match(connection.received, /^HTTP\/1.1 400 /, expectation)
        t.notMatch(connection.received, '{', `${expectation}: no JSON`)
        await notExecuted(t, expectation)
      }
    })

    await t.test('a request with `expect: 100-continue` gets a 100, then the response', async (t) => {
      const later = '{"path":"awaited","value":1}'
      const fetched = '{"path":"awaited"}'
      const pieces = `${later.length.toString(16)}\r\n${later}\r\n0\r\n\r\n`
      const expecting = (route: string, framing: string, word = '100-continue') =>
        head(`expect: ${word}`, framing).replace('/add', route)
      const [long, short] = [later, fetched].map(({ length }) => `content-length: ${length}`) as [string, string]
      for (const [expectation, text, rest, status] of [
        ['a write', expecting('/addAndSet', long), later, 200],
        ['a chunked write', expecting('/addAndSet', chunked, '100-Continue'), pieces, 200],
        ['a fetch', expecting('/fetch', short, '100-CONTINUE'), fetched, 200],
        ['no route', expecting('/none', short), fetched, 404],
        ['no key', expecting('/fetch', short).replace(token, 'unknown'), fetched, 401],
      ] as const) {
        const connection = await server.raw()
        await connection.write(text)
        await connection.answers(1)
        t.ok(connection.received.startsWith('HTTP/1.1 100 Continue\r\n\r\n'), `${expectation}: 100 comes first`)
        await connection.write(rest)
        const [, answer] = await connection.answers(2)
        t.equal(answer?.status, status, `${expectation}: ${connection.received}`)
        t.match(answer?.head, /\r\ncontent-type: application\/json/, `${expectation}: complete headers`)
        connection.close()
      }
    })

    await t.test('a content-encoding other than identity returns 415, and the error names it', async (t) => {
      const send = (encoding: string) => post('add', { path: 'encoded' }, { headers: { 'content-encoding': encoding } })
      for (const encoding of ['gzip', 'GZIP', 'gzip, identity'])
        refuses(t, await send(encoding), 415, 'unsupported_encoding', encoding, `"${encoding}"`)
      for (const encoding of ['identity', 'Identity', '']) t.equal((await send(encoding)).status, 200, encoding)
    })
  },
  { store: 'lmdb' },
)
