/**
 * Authentication: every request needs a known API key, which is checked before any part of the body is read.
 */
import t from 'tap'
import { apiRoutes } from '../../dist/api/routes/routes.js'
import { gives, refuses } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

const routes = apiRoutes.map(({ name }) => name)

await overStores(t, async (t, server) => {
  const { post, token } = server
  await post('addAndSet', { path: 'a', value: 1 })
  const item = '{"path":"a","type":"json","value":1}'

  /** A fetch with this authorization header, or without one. */
  const fetchWith = (authorization: string | undefined) => post('fetch', { path: 'a' }, { headers: { authorization } })

  await t.test('a request without a key is rejected on every route, and the response names the scheme', async (t) => {
    for (const route of routes) {
      const answer = await post(route, { path: 'a' }, { token: null })
      refuses(t, answer, 401, 'unauthorized', route, 'authorization: Apikey')
      t.equal(answer.headers['www-authenticate'], 'Apikey', `${route}: WWW-Authenticate`)
    }
  })

  await t.test('an unknown key or a malformed header is rejected, and the error does not repeat it', async (t) => {
    const changed = token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A')
    for (const authorization of [
      ...['Apikey', 'Apikey ', 'Apikey x', `Apikey ${changed}`, `Apikey ${token}x`, `Apikey ${token.slice(0, -1)}`],
      ...[`Apikey ${token.toUpperCase()}`, `Apikey ${token} ${token}`, `Apikey "${token}"`, `Apikey${token}`],
      ...[`Basic ${token}`, `XApikey ${token}`, token, `${token} x`, `Bearer ${token}x`],
    ]) {
      const answer = await fetchWith(authorization)
      const shown = authorization.replaceAll(token, '<token>')
      refuses(t, answer, 401, 'unauthorized', shown)
      t.equal(answer.headers['www-authenticate'], 'Apikey', 'WWW-Authenticate')
      t.notOk(answer.text.includes(token.slice(10, 20)), `${shown}: the token is not repeated`)
    }
  })

  await t.test('the scheme of the header may be Apikey or Bearer, in upper or lower case', async (t) => {
    for (const scheme of ['Apikey', 'apikey', 'APIKEY', 'ApiKey', 'Bearer', 'bearer', 'BEARER'])
      gives(t, await fetchWith(`${scheme} ${token}`), item, scheme)
  })

  await t.test('the error for an invalid header describes the header that was found', async (t) => {
    for (const [authorization, found] of [
      [undefined, 'there is no authorization header'],
      ['', 'there is no authorization header'],
      ['Apikey unknown', 'its token is unknown'],
      ['bearer unknown', 'its token is unknown'],
      ['Apikey', 'no token follows "Apikey"'],
      ['Bearer ', 'no token follows "Bearer"'],
      ['Basic eDp5', 'the scheme of the header is "Basic"'],
      ['Digest username="x", realm="y"', 'the scheme of the header is "Digest"'],
      [`Apikey ${token} ${token}`, 'unexpected text follows the token after "Apikey"'],
      [token, 'the header is not "Apikey" or "Bearer" followed by a space and a token'],
      [`${token} ${token}`, 'the header is not "Apikey" or "Bearer" followed by a space and a token'],
    ] as const) {
      refuses(
        t,
        await fetchWith(authorization),
        401,
        'unauthorized',
        String(authorization).replaceAll(token, '<token>'),
        `: ${found}.`,
      )
    }
  })

  await t.test('the key is checked before the body and the content type', async (t) => {
    const unknown = { token: 'unknown' }
    refuses(t, await post('fetch', 'no json', unknown), 401, 'unauthorized', 'a body that is not JSON')
    const wrongType = await post('fetch', {}, { ...unknown, headers: { 'content-type': 'text/plain' } })
    refuses(t, wrongType, 401, 'unauthorized', 'an unsupported content type')
  })

  await t.test('a request without a key is rejected even if its body never arrives', async (t) => {
    const connection = await server.raw()
    await connection.write(
      'POST /topics/fetch HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n',
    )
    t.match((await connection.answer())?.head, /^http\/1.1 401 unauthorized\r\n/)
    connection.close()
  })

  await t.test('a rejected write changes nothing', async (t) => {
    await post('set', { path: 'a', value: 2 }, { token: null })
    await post('remove', { path: 'a' }, { token: 'unknown' })
    gives(t, await post('fetch', { path: 'a' }), item, 'the topic is unchanged')
  })
})
