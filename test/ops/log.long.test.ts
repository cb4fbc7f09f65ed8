/**
 * The log: its events, the lines of the access log, and secrets that are never in either.
 */

import { execFileSync } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { first } from '../support/elements.js'
import { requestText } from '../support/service/raw.js'
import { type LogLine, startServer, until } from '../support/service/server.js'

const secret = 'never-in-the-log'

await t.test('the access log has one line for each request, with its members', async (t) => {
  const server = await startServer(t, { flags: ['--access-log'] })
  const token = await server.addKey('tester', { allow: ['fetch'] })
  const body = `{"path":"${secret}/path","value":"${secret}"}`
  await server.post('addAndSet', body)
  await server.post('fetch', { path: `${secret}/path` }, { token })
  await server.post('set', body, { token })
  await server.post('nowhere', body)
  await server.post('fetch', body, { token: secret })
  const behind = await server.raw()
  await behind.write(`${requestText('/topics/set', server.token, body)}what is this`)
  await behind.closed
  // The requests before these are sent by `addKey` until every worker knows the new key.
  const answered = () => server.log.filter(({ msg }) => msg === 'request')
  const requests = () => answered().slice(answered().findIndex(({ route }) => route === '/topics/addAndSet'))
  const lines = await until('six lines are logged', async () => (requests().length >= 6 ? requests() : undefined))
  const bytesIn = Buffer.byteLength(body)
  t.match(lines, [
    { route: '/topics/addAndSet', status: 200, bytesIn, bytesOut: 47, key: 'first' },
    { route: '/topics/fetch', status: 200, bytesOut: 73, key: 'tester' },
    { route: '/topics/set', status: 403, cause: 'forbidden_operation', key: 'tester' },
    { route: 'other', status: 404, cause: 'unknown_route', bytesIn },
    { route: '/topics/fetch', status: 401, cause: 'unauthorized', key: undefined },
    { route: '/topics/set', status: undefined, cause: 'bytes_behind', bytesIn, bytesOut: 0, key: 'first' },
  ])
  for (const { ms } of lines) t.ok(typeof ms === 'number' && ms >= 0 && ms < 10_000, `${ms} ms`)
  t.notOk(server.output.includes(secret), 'the log contains no path, value or token')
  t.notOk(server.output.includes(token), 'the log contains no valid token')
  await server.stop()
  t.equal(requests().length, 6, 'one line for each request')
})

await t.test('without the access log, individual requests are not logged', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const refused = (): readonly LogLine[] => server.log.filter(({ msg }) => msg === 'API key rejected')
  const startedMs = performance.now()
  for (let i = 0; i < 20; i++) await server.post('fetch', { path: secret }, { token: secret })
  // A worker's unlogged counts are lost when it is killed.
  await until('every rejection is logged', async () => {
    return refused().reduce((sum, line) => sum + Number(line.count), 0) >= 20 ? true : undefined
  })
  const seconds = Math.ceil((performance.now() - startedMs) / 1000)
  t.ok(
    refused().length <= 2 * (seconds + 1),
    `a burst of rejected keys has few lines: ${refused().length} in ${seconds} s`,
  )
  process.kill(first(server.workerPids()), 'SIGKILL')
  await server.logged('worker replaced')
  t.strictSame(await server.stop(), { code: 0, signal: null })
  const count = (msg: string): number => server.timesLogged(msg)
  t.equal(count('request'), 0)
  t.equal(count('settings'), 1, 'the settings once')
  t.match(
    server.log.find(({ msg }) => msg === 'settings'),
    { config: { workers: 2, bodyBytesMax: 1048576 }, node: process.version },
  )
  t.match(
    server.log.find(({ msg }) => msg === 'worker died'),
    { level: 50, signal: 'SIGKILL' },
  )
  t.equal(count('worker replaced'), 1)
  t.equal(count('stopped'), 1)
  t.notOk(server.output.includes(secret), 'the log contains no path and no token')
})

await t.test('in the journal, and only there, each line starts with the priority of its level', async (t) => {
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']
  const module = join(import.meta.dirname, '../../dist/ops/log.js')
  const program = `import { createLog } from ${JSON.stringify(module)}
    const log = createLog('tool')
    log.level = 'trace'
    for (const level of ${JSON.stringify(levels)}) log[level](level)`
  const file = join(t.testdir(), 'journal')
  const journal = openSync(file, 'w')
  const { dev, ino } = fstatSync(journal)
  const env = { ...process.env, JOURNAL_STREAM: `${dev}:${ino}` }
  const run = (stdout: number | 'pipe') =>
    execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      env,
      encoding: 'utf8',
      stdio: ['ignore', stdout, 'inherit'],
    })
  t.notMatch(run('pipe'), /^</m, 'the output is redirected')
  run(journal)
  closeSync(journal)
  const output = readFileSync(file, 'utf8')
  t.notMatch(output, /^\{/m, 'no line is without a priority')
  const found = [...output.matchAll(/^<(\d)>.*"msg":"(\w+)"/gm)].map(([, priority, level]) => `${level} ${priority}`)
  t.strictSame(found, ['trace 7', 'debug 7', 'info 6', 'warn 4', 'error 3', 'fatal 2'], 'the priorities of syslog')
})
