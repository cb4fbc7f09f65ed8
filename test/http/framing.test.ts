/**
 * Requests whose end is missing or ambiguous are refused, as JSON where that is possible, and their connection is
 * closed, so that what follows is never taken for a request. Also expectations, and encodings of the body.
 */

import t from 'tap'
import { only } from '../support/elements.js'
import { refuses } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'
import { requestText } from '../support/service/raw.js'

await overStores(
  t,
  async (t, server) => {
    const { post, token } = server
    const head = (...headers: readonly string[]) =>
      [
        'POST /topics/add HTTP/1.1',
        'host: x',
        `authorization: Apikey ${token}`,
        'content-type: application/json',
        ...headers,
        '',
        '',
      ].join('\r\n')
    const body = '{"path":"doubtful"}'
    const hidden = requestText('/topics/add', token, '{"path":"hidden"}')

    for (const [expectation, text, status, code] of [
      ['no length', head(), 411, 'length_required'],
      ['no length, but a body', head() + body, 411, 'length_required'],
      ['two lengths', head('content-length: 19', 'content-length: 5') + body, 400, 'invalid_framing'],
      ['two lengths that agree', head('content-length: 19', 'content-length: 19') + body, 400, 'invalid_framing'],
      ['a length of too many digits', head('content-length: 0000000000000019') + body, 400, 'invalid_framing'],
      [
        'an encoding before chunks',
        `${head('transfer-encoding: gzip, chunked')}13\r\n${body}\r\n0\r\n\r\n`,
        400,
        'invalid_framing',
      ],
      ['the transfer encoding identity', head('transfer-encoding: identity'), 400, 'invalid_framing'],
      [
        'two headers for chunks',
        `${head('transfer-encoding: chunked', 'transfer-encoding: chunked')}13\r\n${body}\r\n0\r\n\r\n`,
        400,
        'invalid_framing',
      ],
      [
        'chunks twice in one header',
        `${head('transfer-encoding: chunked, chunked')}13\r\n${body}\r\n0\r\n\r\n`,
        400,
        'invalid_framing',
      ],
      ['an unknown expectation', head('expect: the best', 'content-length: 19'), 417, 'expectation_failed'],
      [
        'an unknown expectation, with chunks',
        head('Expect: 200-ok', 'transfer-encoding: chunked'),
        417,
        'expectation_failed',
      ],
      [
        'an unknown expectation, after a known one',
        head('expect: 100-continue', 'expect: x', 'content-length: 19'),
        417,
        'expectation_failed',
      ],
    ] as const) {
      await t.test(`${expectation}: answered ${status}, and the connection closed`, async (t) => {
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
        await Promise.all(Array.from({ length: server.client.connections }, () => post('fetch', { path: 'none' })))
        followed.end()
        await followed.closed
        refuses(t, await post('fetch', { path: 'hidden' }), 400, 'no_such_topic', 'what follows is not executed')
        refuses(t, await post('fetch', { path: 'doubtful' }), 400, 'no_such_topic', 'nor is the request')
      })
    }

    await t.test('a length of 0, which may hide another, ends the connection also of an upload', async (t) => {
      const connection = await server.raw()
      await connection.write(head('content-length: 0').replace('/add', '/batch').replace('/json', '/x-ndjson'))
      const answer = await connection.answer()
      t.match(answer, { status: 200, head: /\r\nconnection: close/, body: '{"done":true' })
      await connection.closed
    })

    await t.test('invalid framing gets the same answer without a route, and with another method', async (t) => {
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

    await t.test('the library answers some of these itself: 400, without JSON, and closed', async (t) => {
      for (const [expectation, text] of [
        ['a list of lengths', head('content-length: 19, 19') + body],
        ['a length with a sign', head('content-length: +19') + body],
        [
          'a length and chunks',
          `${head('content-length: 19', 'transfer-encoding: chunked')}13\r\n${body}\r\n0\r\n\r\n`,
        ],
      ] as const) {
        const connection = await server.raw()
        await connection.write(text + hidden)
        await connection.closed
        t.match(connection.received, /^HTTP\/1.1 400 /, expectation)
        t.notMatch(connection.received, '{', `${expectation}: no JSON`)
        refuses(
          t,
          await post('fetch', { path: 'hidden' }),
          400,
          'no_such_topic',
          `${expectation}: what follows is not executed`,
        )
        refuses(
          t,
          await post('fetch', { path: 'doubtful' }),
          400,
          'no_such_topic',
          `${expectation}: nor is the request`,
        )
      }
    })

    for (const word of ['100-continue', '100-Continue', '100-CONTINUE']) {
      await t.test(`the expectation ${word} gets a 100, and the request is then served or refused`, async (t) => {
        const later = '{"path":"awaited","value":1}'
        const chunked = `${later.length.toString(16)}\r\n${later}\r\n0\r\n\r\n`
        for (const [expectation, text, rest, status] of [
          [
            'a write',
            head(`expect: ${word}`, `content-length: ${later.length}`).replace('/add', '/addAndSet'),
            later,
            200,
          ],
          [
            'a chunked write',
            head(`Expect: ${word}`, 'transfer-encoding: chunked').replace('/add', '/addAndSet'),
            chunked,
            200,
          ],
          [
            'a fetch',
            head(`expect: ${word}`, 'content-length: 18').replace('/add', '/fetch'),
            '{"path":"awaited"}',
            200,
          ],
          [
            'no route',
            head(`expect: ${word}`, 'content-length: 18').replace('/add', '/none'),
            '{"path":"awaited"}',
            404,
          ],
          [
            'no key',
            head(`expect: ${word}`, 'content-length: 18').replace(token, 'unknown'),
            '{"path":"awaited"}',
            401,
          ],
        ] as const) {
          const connection = await server.raw()
          await connection.write(text)
          await connection.answers(1)
          t.ok(connection.received.startsWith('HTTP/1.1 100 Continue\r\n\r\n'), `${expectation}: 100 comes first`)
          await connection.write(rest)
          const [, answer] = await connection.answers(2)
          t.equal(answer?.status, status, `${expectation}: ${connection.received}`)
          t.match(answer?.head, /\r\ncontent-type: application\/json/, `${expectation}: whole headers`)
          connection.close()
        }
      })
    }

    await t.test('a content-encoding other than identity is answered 415, and named', async (t) => {
      for (const encoding of ['gzip', 'br', 'deflate', 'GZIP', 'gzip, identity', 'zstd']) {
        const answer = await post('add', { path: 'encoded' }, { headers: { 'content-encoding': encoding } })
        refuses(t, answer, 415, 'unsupported_encoding', encoding, `"${encoding}"`)
      }
      for (const encoding of ['identity', 'Identity', '']) {
        t.equal(
          (await post('add', { path: 'encoded' }, { headers: { 'content-encoding': encoding } })).status,
          200,
          encoding,
        )
      }
    })
  },
  { store: 'lmdb' },
)
