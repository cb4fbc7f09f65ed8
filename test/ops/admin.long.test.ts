/**
 * The admin listener: its paths and methods, health, and readiness with reasons. ops/metrics and api/openapi test the contents
 * of /metrics and /openapi.json.
 */

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { first } from '../support/elements.js'
import { get } from '../support/service/metrics.js'
import { runCommand, startServer, until } from '../support/service/server.js'

const server = await startServer(t, { workers: 2 })
const { adminUrl, url } = server

await t.test('the admin listener answers GET and HEAD on five paths', async (t) => {
  t.strictSame(await get(`${adminUrl}/healthz`), { status: 200, type: 'text/plain; charset=utf-8', text: 'ok\n' })
  t.strictSame(await get(`${adminUrl}/readyz`), { status: 200, type: 'text/plain; charset=utf-8', text: 'ready\n' })
  t.match(await get(`${adminUrl}/readyz?verbose`), { status: 200 }, 'a query string is ignored')
  for (const path of ['/', '/healthz', '/readyz', '/metrics', '/openapi.json']) {
    t.match(await get(adminUrl + path, 'HEAD'), { status: 200, text: '' }, `HEAD ${path}`)
    t.match(await get(adminUrl + path, 'POST'), { status: 405 }, `POST ${path}`)
  }
  for (const path of ['/readyz', '/metrics'])
    t.match(await get(url + path), { status: 404 }, `${path} is not on the public port`)
  t.match(await get(`${adminUrl}/`), { status: 200, type: 'text/html; charset=utf-8', text: /^<!doctype html>/ })
  for (const path of ['/topics/fetch', '/metrics/', '/console/', '/console/x', '/../healthz/../x'])
    t.match(await get(adminUrl + path), { status: 404 }, path)
})

await t.test('a service with a dead worker is not ready until the worker is replaced', async (t) => {
  process.kill(first(server.workerPids()), 'SIGKILL')
  const answers = new Set<string>()
  await until('the service is ready again', async () => {
    const { status, text } = await get(`${adminUrl}/readyz`)
    answers.add(text)
    return status === 200 && answers.size > 1 ? true : undefined
  })
  t.ok(answers.has('not ready\n1 of 2 workers is serving\n'), [...answers].join())
})

await t.test('a draining service is not ready', async (t) => {
  await server.post('add', { path: 'a' })
  server.signal('SIGTERM')
  const { text } = await until('the service is not ready', async () => {
    const answer = await get(`${adminUrl}/readyz`)
    return answer.status === 503 ? answer : undefined
  })
  t.match(text, 'the service is stopping')
  t.strictSame(await server.exited, { code: 0, signal: null })
})

await t.test('a service with a nearly full disk is healthy but not ready', async (t) => {
  const server = await startServer(t, { flags: ['--disk-free-bytes-min', String(2 ** 50)] })
  const ready = { status: 503, text: /^not ready\nthe disk is nearly full\n$/ }
  t.match(await get(`${server.adminUrl}/readyz`), ready, 'from the start')
  await server.logged('the disk is nearly full: writes that might fill it are rejected')
  t.match(await get(`${server.adminUrl}/healthz`), { status: 200 })
})

await t.test('a service whose admin port is in use does not start', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const flags = ['--port', '0', '--admin-port', String(port), '--data', join(t.testdir(), 'db')]
  const { code, stderr } = await runCommand(['serve', ...flags])
  taken.close()
  t.equal(code, 10)
  t.equal(
    stderr,
    `topicd: cannot listen on 127.0.0.1:${port} (the admin listener): another process is listening there (EADDRINUSE)\n`,
  )
})
