/**
 * The API description is valid and accurate: it is compared with the requests that the service accepts and the responses
 * that it sends.
 */

import { createConfig, lintFromString } from '@redocly/openapi-core'
import t, { type Test } from 'tap'
import { apiRoutes } from '../../dist/api/routes/routes.js'
import { present } from '../support/elements.js'
import { Description, type Document } from '../support/models/documented-answers.js'
import { get } from '../support/service/metrics.js'
import { runCommand, startServer } from '../support/service/server.js'

interface Json {
  readonly [name: string]: Json
}

const { stdout } = await runCommand(['openapi'])
const document = JSON.parse(stdout) as Json

/** The nested member at a path of names. */
function inside(json: Json, ...names: readonly string[]): Json {
  return names.reduce((member, name) => present(member[name]), json)
}

const description = new Description(JSON.parse(stdout) as Document)

const operations = Object.entries(inside(document, 'paths')).flatMap(([path, { post }]) =>
  post === undefined ? [] : [[path, post] as const],
)

const config = await createConfig({ extends: ['recommended'] })

/** The linter's problems with a description, each with its rule. */
async function lint(described: object): Promise<string[]> {
  const problems = await lintFromString({ source: JSON.stringify(described), absoluteRef: '/openapi.json', config })
  return problems.map(({ severity, ruleId, message }) => `${severity} ${ruleId}: ${message}`)
}

await t.test('the description passes a linter with all recommended rules', async (t) => {
  t.strictSame(await lint(document), [])
})

await t.test('the description is OpenAPI 3.1 and describes all routes and two pages', async (t) => {
  t.match(String(document.openapi), /^3\.1\./)
  const routes = ['fetch', 'changes', 'set', 'addAndSet', 'add', 'remove', 'batch'].map((route) => `/topics/${route}`)
  t.strictSame(
    operations.map(([path]) => path),
    routes,
  )
  t.strictSame(Object.keys(inside(document, 'paths')), [...routes, '/healthz', '/openapi.json'])
  const references = [...new Set([...stdout.matchAll(/"\$ref": "#\/([^"]+)"/g)].map(([, reference = '']) => reference))]
  const unresolved = references.filter(
    (reference) =>
      reference.split('/').reduce<Json | undefined>((member, name) => member?.[name], document) === undefined,
  )
  t.ok(references.length > 10)
  t.strictSame(unresolved, [])
  t.notMatch(stdout, 'readOnly', 'no member is read-only')
  t.notMatch(stdout, /"undefined/, 'no description is missing')
  t.notMatch(stdout, '"default"', 'no defaults, which generated types would make mandatory')
})

await t.test('the description has both authorization schemes and usable operation ids', async (t) => {
  const ids = [...stdout.matchAll(/"operationId": "(\w+)"/g)].map(([, id = '']) => id)
  t.equal(ids.length, 9)
  t.strictSame(
    ids.filter((id) => id in globalThis),
    [],
  )
  t.strictSame(document.security, [{ bearer: [] }, { apiKey: [] }], 'generators take bearer, the first')
  t.match(inside(document, 'components', 'securitySchemes'), {
    apiKey: { type: 'apiKey', in: 'header', name: 'authorization' },
    bearer: { type: 'http', scheme: 'bearer' },
  })
  t.strictSame(
    operations.map(([, post]) => post.tags),
    operations.map(() => ['topics']),
  )
})

await t.test('requests by path and by selector have separate schemas with limits', async (t) => {
  const schemas = inside(document, 'components', 'schemas')
  t.strictSame(
    ['FetchByPath', 'FetchBySelector', 'RemoveByPath', 'RemoveBySelector'].map((name) => schemas[name]?.required),
    [['path'], ['selector'], ['path'], ['selector']],
  )
  t.match(inside(schemas, 'FetchBySelector', 'properties', 'size'), {
    type: 'integer',
    minimum: 1,
    maximum: 1000,
    description: /10 by default/,
  })
  const uint32 = { type: 'integer', maximum: 2 ** 32 - 1 }
  t.match(inside(schemas, 'FetchBySelector', 'properties', 'deep_branch_depth'), { ...uint32, minimum: 1 })
  t.match(inside(schemas, 'FetchBySelector', 'properties', 'deep_branch_limit'), { ...uint32, minimum: 0 })
  t.match(inside(schemas, 'FetchBySelector', 'properties', 'type'), {
    enum: ['any', 'json', 'string'],
    description: /json by default/,
  })
  t.match(inside(schemas, 'FetchByPath', 'properties', 'path'), {
    minLength: 1,
    maxLength: 1980,
    description: /1978 bytes of UTF-8/,
  })
  t.match(inside(schemas, 'RemoveBySelector', 'properties', 'selector'), {
    minLength: 1,
    maxLength: 8192,
    description: /8192 bytes of UTF-8/,
  })
  const larger = JSON.parse((await runCommand(['openapi', '--page-size-max', '5000'])).stdout) as Json
  t.match(
    inside(larger, 'components', 'schemas', 'FetchBySelector', 'properties', 'size'),
    { maximum: 5000 },
    'the maximum size follows the setting',
  )
})

await t.test('examples match their schemas and the responses of a new service', async (t) => {
  const { post } = await startServer(t)
  let count = 0
  const creating = ['addAndSet', 'add', 'set']
  const inOrder = [
    ...creating.map((name) => present(apiRoutes.find((route) => route.name === name))),
    ...apiRoutes.filter(({ name }) => !creating.includes(name)),
  ]
  for (const { name: route, examples } of inOrder) {
    for (const { name, request, answer } of examples) {
      holds(t, route, 'request', request, `${route} ${name}: the request`)
      holds(t, route, 200, answer, `${route} ${name}: the response`)
      const { status, text } = await post(route, request)
      t.strictSame({ status, answer: JSON.parse(text) }, { status: 200, answer }, `${route} ${name}: the response`)
      const described = inside(document, 'paths', `/topics/${route}`, 'post')
      const ofJson = ['content', 'application/json', 'examples', name, 'value']
      t.strictSame(inside(described, 'requestBody', ...ofJson), request, `${route} ${name}: described`)
      t.strictSame(inside(described, 'responses', '200', ...ofJson), answer, `${route} ${name}: described`)
      count++
    }
  }
  t.equal(count, 16)
})

const server = await startServer(t)
const { post } = server
const reader = await server.addKey('reader', { allow: ['fetch'] })

/** Requests that the service accepts. */
const accepted: readonly (readonly [route: string, body: object])[] = [
  ['add', { path: 'a' }],
  ['add', { path: 'a/p', properties: { VALIDATE_VALUES: 'true', anything: '' } }],
  ['addAndSet', { path: 'b', value: { nested: [1, null, 'x'] } }],
  ['addAndSet', { path: 's', value: 'text', type: 'string', properties: { DONT_RETAIN_VALUE: 'false' } }],
  ['set', { path: 'b', value: false }],
  ['set', { path: 's', value: '', type: 'string' }],
  ['fetch', { path: 'b' }],
  ['fetch', { selector: '?.*//' }],
  ['fetch', { selector: '*a//', size: 1, after: 'a', type: 'json' }],
  ['fetch', { path: 'a/p', type: 'any', with_values: false, with_properties: true }],
  ['fetch', { selector: '?.*//', type: 'any', with_values: true, with_properties: true }],
  ['fetch', { selector: '?.*//', deep_branch_depth: 1, deep_branch_limit: 0 }],
  ['fetch', { selector: '?.*//', deep_branch_depth: 4294967295, deep_branch_limit: 4294967295, with_values: false }],
  ['changes', { selector: '?.*//' }],
  ['changes', { path: 'b', since: 'now', size: 1, wait: 0, type: 'any', with_version: true }],
  ['changes', { selector: '>nothing', with_values: false, with_properties: true }],
  ['remove', { path: 'a' }],
  ['remove', { selector: '*a//' }],
  ['remove', { selector: '?.*//', dry_run: true }],
  ['remove', { path: 'b', dry_run: true, constraint: { value: false } }],
  ['set', { path: 'b', value: 1, constraint: { value: false } }],
  ['set', { path: 'b', increment: -0.5 }],
  ['add', { path: 'c', constraint: { no_topic: true } }],
  ['addAndSet', { path: 'c', value: 1, constraint: { no_value: true } }],
  ['batch', { operations: [{ op: 'set', path: 'c', value: null, constraint: { value: 1 } }] }],
  [
    'batch',
    {
      operations: [
        { op: 'addAndSet', path: 'd', value: [], properties: { a: 'b' } },
        { op: 'add', path: 'd', type: 'string' },
        { op: 'remove', path: 'd', constraint: { value: [] } },
      ],
    },
  ],
  [
    'batch',
    {
      atomic: false,
      operations: [
        { op: 'set', path: 'nothing', value: 1 },
        { op: 'increment', path: 'b', increment: 1 },
        { op: 'set', path: 'b', increment: 1, constraint: { no_topic: true } },
        { op: 'remove', path: 'nothing' },
      ],
    },
  ],
]

/** Requests that the service rejects for their form. */
const refused: typeof accepted = [
  ['fetch', {}],
  ['fetch', { path: 'a', selector: '>a' }],
  ['fetch', { path: 'a', type: 'int' }],
  ['fetch', { selector: '>a', size: 0 }],
  ['fetch', { selector: '>a', aftr: 'a' }],
  ['fetch', { selector: '>a', deep_branch_depth: 0, deep_branch_limit: 1 }],
  ['fetch', { selector: '>a', deep_branch_depth: 1, deep_branch_limit: -1 }],
  ['fetch', { selector: '>a', with_values: 'no' }],
  ['fetch', { path: 'a', with_properties: 1 }],
  ['remove', { path: 'a', constraint: { version: -1 } }],
  ['remove', { path: 'a', constraint: { version: 9007199254740992 } }],
  ['add', { path: 'a', type: 'any' }],
  ['set', { path: 'a', type: 'any', value: 1 }],
  ['set', { path: 'a' }],
  ['set', { path: 'a', increment: '1' }],
  ['set', { path: 'a', increment: 1, value: 1 }],
  ['set', { path: 'a', value: 1, properties: {} }],
  ['addAndSet', { path: 'a', value: 1, properties: { a: 1 } }],
  ['add', { path: 'a', value: 1 }],
  ['add', []],
  ['changes', { path: 'a', wait: 51 }],
  ['changes', { path: 'a', since: 1 }],
  ['changes', { path: 'a', after: 'b' }],
  ['remove', {}],
  ['remove', { path: 'a', selector: '>a' }],
  ['remove', { path: 'a', size: 1 }],
  ['remove', { selector: '>a', constraint: { no_topic: true } }],
  ['remove', { path: 'a', dry_run: 1 }],
  ['set', { path: 'a', value: 1, constraint: {} }],
  ['set', { path: 'a', value: 1, constraint: { value: 1, no_value: true } }],
  ['add', { path: 'a', constraint: { no_topic: false } }],
  ['batch', {}],
  ['batch', { operations: [] }],
  ['batch', { operations: [{ path: 'a' }] }],
  ['batch', { operations: [{ op: 'fetch', path: 'a' }] }],
  ['batch', { operations: [{ op: 'remove', selector: '>a' }] }],
  ['batch', { operations: [{ op: 'set', path: 'a' }] }],
]

/** Asserts that a body matches its route's description of requests, or of responses with a status. */
function holds(t: Test, route: string, status: number | 'request', json: unknown, expectation: string): void {
  t.equal(description.mismatch(`/topics/${route}`, status, json), undefined, expectation)
}

await t.test('schemas match accepted requests and their responses', async (t) => {
  for (const [route, body] of accepted) {
    const answer = await post(route, body)
    const what = `${route} ${JSON.stringify(body)}`
    t.equal(answer.status, 200, what)
    holds(t, route, 'request', body, `${what}: the request`)
    holds(t, route, 200, JSON.parse(answer.text), `${what}: ${answer.text}`)
  }
})

await t.test('schemas reject requests that the service rejects because of their form', async (t) => {
  for (const [route, body] of refused) {
    const answer = await post(route, body)
    const what = `${route} ${JSON.stringify(body)}`
    t.equal(answer.status, 400, what)
    t.ok(description.mismatch(`/topics/${route}`, 'request', body), `${what}: the request`)
    holds(t, route, 400, JSON.parse(answer.text), `${what}: ${answer.text}`)
  }
})

await t.test('errors with status 401, 403, 409, 413 and 415 are described', async (t) => {
  const refusals = [
    await post('set', { path: 'b', value: 1 }, { token: null }),
    await post('set', { path: 'b', value: 1 }, { token: reader }),
    await post('set', { path: 'b', value: 1, constraint: { no_topic: true } }),
    await post('set', { path: 'b', value: 'x'.repeat(2 ** 20) }),
    await post('set', { path: 'b', value: 1 }, { headers: { 'content-type': 'text/plain' } }),
  ]
  t.strictSame(
    refusals.map(({ status }) => status),
    [401, 403, 409, 413, 415],
  )
  for (const { status, text } of refusals) holds(t, 'set', status, JSON.parse(text), text)
})

await t.test('the admin listener serves the description that the command prints', async (t) => {
  const { text, type } = await get(`${server.adminUrl}/openapi.json`)
  t.equal(type, 'application/json')
  t.strictSame(JSON.parse(text), document)
  const based = JSON.parse((await runCommand(['openapi', '--base-path', '/diffusion/'])).stdout) as Json
  t.strictSame(based.servers, [{ url: '/diffusion' }])
})
