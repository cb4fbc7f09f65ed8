/**
 * Refused requests, from the route to the last member of the body: each fault has its status, its code and a message
 * that says where it is, and the service keeps serving.
 */
import t from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { Client } from '../support/service/client.js'
import { overStores } from '../support/service/over-stores.js'
import { startServer } from '../support/service/server.js'

const routes = ['fetch', 'set', 'add', 'addAndSet', 'remove']

await overStores(t, async (t, server) => {
  const { post, client } = server
  await post('addAndSet', { path: 'a', value: 1 })
  const item = '{"path":"a","type":"json","value":1}'

  await t.test('an unknown route is a 404 that names the routes', async (t) => {
    for (const path of [
      '/topics',
      '/topics/',
      '/topics/fetch/',
      '/topics/fetchx',
      '/topics/Fetch',
      '/topics//fetch',
      '/x/topics/fetch',
    ]) {
      const answer = await client.send(path, { path: 'a' })
      refuses(t, answer, 404, 'unknown_route', path, ...routes.map((route) => `/topics/${route}`))
    }
  })

  await t.test('a query string is not part of the route', async (t) => {
    gives(t, await post('fetch?x=1', { path: 'a' }), item, 'the route is found')
  })

  await t.test('any method other than POST is a 405 that names POST', async (t) => {
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

  await t.test('the content type must be application/json, with any parameters', async (t) => {
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
      'APPLICATION/JSON',
      'application/json ;x=y',
    ]) {
      gives(t, await post('fetch', { path: 'a' }, { headers: { 'content-type': type } }), item, type)
    }
    for (const type of [
      undefined,
      '',
      'text/plain',
      'application/jsonx',
      'application/json-patch+json',
      'text/json',
      'application/x-www-form-urlencoded',
      'application',
    ]) {
      const answer = await post('fetch', { path: 'a' }, { headers: { 'content-type': type } })
      refuses(t, answer, 415, 'unsupported_media_type', String(type), 'application/json')
    }
  })

  await t.test('a body that is not UTF-8 is a 400', async (t) => {
    const inPath = (...bytes: number[]) =>
      Buffer.concat([Buffer.from('{"path":"'), Buffer.from(bytes), Buffer.from('"}')])
    for (const [expectation, body] of [
      ['a byte that is never UTF-8', inPath(0xff)],
      ['a continuation byte alone', inPath(0x80)],
      ['a truncated sequence', inPath(0xe2, 0x82)],
      ['an overlong sequence', inPath(0xc0, 0xaf)],
      ['a surrogate', inPath(0xed, 0xa0, 0x80)],
      ['a code point beyond the last', inPath(0xf4, 0x90, 0x80, 0x80)],
      ['UTF-16', Buffer.from('\ufeff{"path":"a"}', 'utf16le')],
      ['a body that ends in the middle of a character', Buffer.from([0x7b, 0xc3])],
    ] as const) {
      refuses(t, await post('fetch', body), 400, 'invalid_utf8', expectation)
    }
  })

  await t.test('a body that is not JSON is a 400', async (t) => {
    for (const body of [
      '',
      ' ',
      'x',
      '{',
      '{"path":"a"',
      '{"path":"a"}}',
      '{"path":"a"} x',
      "{'path':'a'}",
      '{path:"a"}',
      '{"path":"a",}',
      '{"path":"a\n"}',
      '{"path":NaN}',
      '{"path":"\\x61"}',
      '{"path":01}',
      '\0',
      '\ufeff{"path":"a"}',
      '{"path":"a"}\0',
    ]) {
      refuses(t, await post('fetch', body), 400, 'invalid_json', JSON.stringify(body))
    }
  })

  await t.test('a body that is not an object is a 400 that says what it is', async (t) => {
    refuses(t, await post('fetch', '[]'), 400, 'invalid_body', 'an array', 'array')
    refuses(t, await post('fetch', '"a"'), 400, 'invalid_body', 'a string', 'string')
    refuses(t, await post('fetch', '5'), 400, 'invalid_body', 'a number', 'number')
    refuses(t, await post('fetch', 'true'), 400, 'invalid_body', 'a boolean', 'boolean')
    refuses(t, await post('fetch', 'null'), 400, 'invalid_body', 'null', 'null')
  })

  /** A body that each route accepts. */
  const accepted: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    fetch: { path: 'a' },
    set: { path: 'a', value: 1 },
    add: { path: 'a' },
    addAndSet: { path: 'a', value: 1 },
    remove: { path: 'none' },
  }

  for (const route of routes) {
    await t.test(`${route} refuses an unknown member by name`, async (t) => {
      for (const name of [
        'pth',
        'Path',
        'paht',
        'Type',
        'x y',
        '',
        'é',
        '__proto__',
        'constructor',
        'a.b',
        'a"b',
        'a[0]',
      ]) {
        const body = `{${JSON.stringify(name)}:1,${JSON.stringify(accepted[route]).slice(1)}`
        refuses(
          t,
          await post(route, body),
          400,
          'unknown_parameter',
          `${route} with ${JSON.stringify(name)}`,
          JSON.stringify(name),
        )
      }
    })

    await t.test(`${route} names a misspelt member, though a required one is missing`, async (t) => {
      for (const name of Object.keys(accepted[route] ?? {})) {
        const misspelt = Object.entries({ ...accepted[route] }).map(([own, value]) => [
          own === name ? `${own}x` : own,
          value,
        ])
        const answer = await post(route, Object.fromEntries(misspelt))
        refuses(t, answer, 400, 'unknown_parameter', `${route} without ${name}`, `"${name}x"`)
      }
    })

    await t.test(`${route} refuses a member given twice`, async (t) => {
      for (const twice of [
        '"path":"a","path":"a"',
        '"path":"a","p\\u0061th":"b"',
        '"path":"a","path":null',
        '"type":1,"type":2',
      ]) {
        const rest = route.toLowerCase().endsWith('set') ? ',"value":1' : ''
        refuses(t, await post(route, `{${twice}${rest}}`), 400, 'duplicate_parameter', `${route} with ${twice}`)
      }
    })
  }

  await t.test('a value given twice is a 400, and nothing is set', async (t) => {
    refuses(t, await post('set', '{"path":"a","value":1,"value":2}'), 400, 'duplicate_parameter', 'value twice')
    refuses(
      t,
      await post('set', '{"path":"a","value":1,"v\\u0061lue":2}'),
      400,
      'duplicate_parameter',
      'value twice, once escaped',
    )
    gives(t, await post('fetch', { path: 'a' }), item, 'nothing was set')
  })

  await t.test('a member of the wrong kind is a 400 that names it and says what is allowed', async (t) => {
    for (const found of [5, null, true, [], {}, ['a']]) {
      for (const [route, members] of Object.entries(accepted)) {
        const answer = await post(route, { ...members, path: found })
        refuses(
          t,
          answer,
          400,
          'invalid_parameter',
          `${route} with the path ${JSON.stringify(found)}`,
          '"path"',
          'string',
        )
      }
      const expectation = JSON.stringify(found)
      refuses(
        t,
        await post('fetch', { selector: found }),
        400,
        'invalid_parameter',
        `selector ${expectation}`,
        '"selector"',
        'string',
      )
      refuses(
        t,
        await post('remove', { selector: found }),
        400,
        'invalid_parameter',
        `selector ${expectation}`,
        '"selector"',
        'string',
      )
      refuses(
        t,
        await post('fetch', { selector: 'a', after: found }),
        400,
        'invalid_parameter',
        `after ${expectation}`,
        '"after"',
        'string',
      )
    }
    for (const found of ['JSON', 'String', '', 'int64', 5, null, ['json']]) {
      for (const route of ['fetch', 'set', 'add', 'addAndSet']) {
        const answer = await post(route, { ...accepted[route], type: found })
        refuses(
          t,
          answer,
          400,
          'invalid_parameter',
          `${route} with the type ${JSON.stringify(found)}`,
          '"type"',
          '"json"',
          '"string"',
        )
      }
    }
    for (const found of [5, null, 'x', true, [], ['a']]) {
      const answer = await post('add', { path: 'a', properties: found })
      refuses(t, answer, 400, 'invalid_parameter', `properties ${JSON.stringify(found)}`, '"properties"', 'object')
    }
    for (const found of [5, null, true, [], {}]) {
      const answer = await post('addAndSet', { path: 'a', value: 1, properties: { colour: found } })
      refuses(
        t,
        answer,
        400,
        'invalid_parameter',
        `a property ${JSON.stringify(found)}`,
        'properties',
        'colour',
        'string',
      )
    }
  })

  await t.test('a size that is not an integer from 1 to 1000 is a 400, never clamped', async (t) => {
    for (const size of [
      '0',
      '-1',
      '1001',
      '1.5',
      '"5"',
      'null',
      'true',
      '1e9',
      '4294967297',
      '18446744073709551617',
      '[]',
      '-0',
      '0.9999',
    ]) {
      const answer = await post('fetch', `{"selector":"*a//","size":${size}}`)
      refuses(t, answer, 400, 'invalid_parameter', `size ${size}`, '"size"', 'integer', '1 to 1000')
    }
    for (const size of ['1', '1000', '1e3', '10.0']) {
      gives(
        t,
        await post('fetch', `{"selector":"*a//","size":${size}}`),
        `{"has_more":false,"results":[${item}]}`,
        `size ${size}`,
      )
    }
  })

  await t.test('after all these refusals every worker is alive and requests are served', async (t) => {
    for (let i = 0; i < 20; i++) gives(t, await post('fetch', { path: 'a' }), item, `request ${i}`)
    t.equal(server.log.filter(({ msg }) => msg === 'worker died').length, 0, 'no worker died')
    t.equal(server.workerPids().length, server.workers, 'every worker is alive')
  })
})

await t.test('the routes are below the base path, and only there', async (t) => {
  const server = await startServer(t, { workers: 2, flags: ['--base-path', '/diffusion/v1/'] })
  t.match(server.url, /\/diffusion\/v1$/, 'the URL ends with it')
  gives(t, await server.post('add', { path: 'a' }), '{"path":"a","created":true}', 'below it')
  const outside = new Client(new URL(server.url).origin, server.token, 1)
  t.teardown(() => outside.close())
  refuses(
    t,
    await outside.post('fetch', { path: 'a' }),
    404,
    'unknown_route',
    'at the root',
    '/diffusion/v1/topics/fetch',
  )
})
