/** Limits and a base path from settings. */
import { join } from 'node:path'
import t from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { Client, type FetchedPage, pathsOf } from '../support/service/client.js'
import { startServer } from '../support/service/server.js'
import { makeDirectory } from '../support/stores/store.js'

const flags = ['--base-path', '/diffusion/v1/', '--batch-operations-max', '5', '--page-size-max', '5']
const server = await startServer(t, { flags: [...flags, '--page-bytes-max', '1024'] })
const { post, client } = server

await t.test('the routes are available only below the base path', async (t) => {
  t.match(server.url, /\/diffusion\/v1$/, 'the URL ends with the base path')
  gives(t, await post('add', { path: 'a' }), '{"path":"a","created":true}', 'below the base path')
  const outside = new Client(new URL(server.url).origin, server.token, 1)
  t.teardown(() => outside.close())
  const answer = await outside.post('fetch', { path: 'a' })
  refuses(t, answer, 404, 'unknown_route', 'at the root', '/diffusion/v1/topics/fetch')
})

await t.test('a batch has at most as many operations as the setting allows', async (t) => {
  const operations = Array.from({ length: 6 }, (_, i) => ({ op: 'add', path: `o/${i}` }))
  const six = await post('batch', { operations })
  refuses(t, six, 400, 'invalid_parameter', 'six', '"operations"', 'an array of 6', '1 to 5')
  gives(t, await post('fetch', { selector: '*o//', count: true }), '{"count":0}', 'nothing was created')
  t.equal((await post('batch', { operations: operations.slice(1) })).status, 200, 'five')
})

await t.test('a page requested without a size has at most the maximum size', async (t) => {
  for (let i = 0; i < 7; i++) await post('add', { path: `t/${i}`, type: 'string' })
  const page = JSON.parse((await post('fetch', { selector: '*t//', type: 'string' })).text)
  t.match(page, { results: { length: 5 }, has_more: true })
  t.equal(pathsOf(await client.walk('*t//', { type: 'string' })).length, 7)
})

await t.test("the limit on a page's bytes applies to the bytes actually sent", async (t) => {
  const add = (i: number, value: string) =>
    post('addAndSet', { path: `b/${i}`, value, properties: { note: 'y'.repeat(200) } })
  const counts = async (members: object): Promise<[number, boolean]> => {
    const page = JSON.parse((await post('fetch', { selector: '*b//', ...members })).text) as FetchedPage
    return [page.results.length, page.has_more]
  }
  for (const i of [1, 2, 3]) await add(i, 'x'.repeat(700))
  t.strictSame(await counts({}), [1, true], 'with their values')
  t.strictSame(await counts({ with_properties: true }), [1, true], 'with properties as well')
  t.strictSame(await counts({ with_values: false }), [3, false], 'without values')
  for (const i of [4, 5]) await add(i, '')
  t.strictSame(await counts({ with_values: false, with_properties: true }), [4, true], 'with properties alone')
})

await t.test('a nearly full disk accepts only batches of removals', async (t) => {
  const dataDir = join(t.testdir(), 'db')
  await makeDirectory(dataDir, ['a', 'b'])
  // More than the capacity of any disk.
  const { post } = await startServer(t, { dataDir, flags: ['--disk-free-bytes-min', String(2 ** 50)] })
  const remove = { op: 'remove', path: 'a' }
  for (const operation of [
    { op: 'set', path: 'b', value: 1 },
    { op: 'add', path: 'c' },
  ]) {
    const answer = await post('batch', { operations: [remove, operation] })
    refuses(t, answer, 507, 'disk_nearly_full', `a removal and ${operation.op}`)
  }
  gives(t, await post('batch', { operations: [remove] }), '{"results":[{"removed":1}]}', 'a removal')
})
