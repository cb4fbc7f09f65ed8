/**
 * Rejected requests, from the route to the body: each fault has its status, its code and a message that locates it, and the
 * service keeps serving. bodies-strict tests the members of bodies.
 */
import t, { type Test } from 'tap'
import { apiRoutes } from '../../dist/api/routes/routes.js'
import { gives, refuses } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'
import type { Server } from '../support/service/server.js'

const routes = apiRoutes.map(({ name }) => name)

await overStores(t, expectations, { store: 'lmdb' })

async function expectations(t: Test, server: Server): Promise<void> {
  const { post, client } = server
  await post('addAndSet', { path: 'a', value: 1 })
  const item = '{"path":"a","type":"json","value":1}'

  await t.test('an unknown route returns 404 and a list of the routes', async (t) => {
    for (const path of [
      '/topics',
      '/topics/',
      '/topics/fetch/',
      '/topics/Fetch',
      '/topics//fetch',
      '/x/topics/fetch',
    ]) {
      const answer = await client.send(path, { path: 'a' })
      refuses(t, answer, 404, 'unknown_route', path, ...routes.map((route) => `/topics/${route}`))
    }
  })

  await t.test('a query string is ignored when the route is chosen', async (t) => {
    gives(t, await post('fetch?x=1', { path: 'a' }), item, 'the route is found')
  })

  await t.test('any method other than POST returns 405, and the response names POST', async (t) => {
    for (const route of routes) {
      for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
        const answer = await post(route, '', { method })
        refuses(t, answer, 405, 'method_not_allowed', `${method} ${route}`, 'POST')
        t.equal(answer.headers.allow, 'POST', `${method} ${route}: Allow`)
      }
      const head = await post(route, '', { method: 'HEAD' })
      const found = { status: head.status, allow: head.headers.allow, text: head.text }
      t.strictSame(found, { status: 405, allow: 'POST', text: '' }, `HEAD ${route} has no body`)
    }
    const head = await client.send('/none', '', { method: 'HEAD' })
    t.strictSame({ status: head.status, text: head.text }, { status: 404, text: '' }, 'HEAD of an unknown route')
    refuses(t, await client.send('/none', '', { method: 'GET' }), 404, 'unknown_route', 'GET of an unknown route')
  })

  await t.test('the content type must be application/json, and may have any parameters', async (t) => {
    for (const type of [
      'application/json',
      'application/json;charset=UTF-8',
      'APPLICATION/JSON',
      'application/json ;x=y',
    ]) {
      gives(t, await post('fetch', { path: 'a' }, { headers: { 'content-type': type } }), item, type)
    }
    for (const type of [undefined, '', 'text/plain', 'application/jsonx', 'application/json-patch+json', 'text/json']) {
      const answer = await post('fetch', { path: 'a' }, { headers: { 'content-type': type } })
      refuses(t, answer, 415, 'unsupported_media_type', String(type), 'application/json')
    }
  })

  await t.test('a body that is not UTF-8, not JSON or not an object returns 400', async (t) => {
    const utf16 = Buffer.from('\ufeff{"path":"a"}', 'utf16le')
    refuses(t, await post('fetch', utf16), 400, 'invalid_utf8', 'UTF-16')
    for (const body of ['', ' ', 'x', '{', '{"path":"a"} x', '{"path":"a"}\0', '\0', '\ufeff{"path":"a"}'])
      refuses(t, await post('fetch', body), 400, 'invalid_json', JSON.stringify(body))
    for (const [body, kind] of Object.entries({
      '[]': 'array',
      '"a"': 'string',
      5: 'number',
      true: 'boolean',
      null: 'null',
    }))
      refuses(t, await post('fetch', body), 400, 'invalid_body', body, kind)
  })

  await t.test('every worker survives the rejected requests of the tests above and still serves', async (t) => {
    for (let i = 0; i < 20; i++) gives(t, await post('fetch', { path: 'a' }), item, `request ${i}`)
    t.equal(server.timesLogged('worker died'), 0, 'no worker died')
    t.equal(server.workerPids().length, server.workers, 'every worker is alive')
  })
}
