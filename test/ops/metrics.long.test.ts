/**
 * The counts of the metrics, compared with the requests that were sent: they are sums over the workers and do not fall when
 * workers are replaced.
 */

import { spawnSync } from 'node:child_process'
import t from 'tap'
import { first } from '../support/elements.js'
import { get, type Metrics, scrape } from '../support/service/metrics.js'
import { startServer, until } from '../support/service/server.js'

const server = await startServer(t, { workers: 2 })
const { adminUrl, post } = server

const requests = 40

const body = '{"path":"m/one","value":"é"}'
const bodyBytes = Buffer.byteLength(body)

const before = await scrape(adminUrl)
for (let i = 0; i < requests; i++) await post('addAndSet', body)
for (let i = 0; i < requests; i++) await post('fetch', { path: 'm/one' })
await post('fetch', { path: 'm/none' })
await post('fetch', { path: 'm/one' }, { token: 'wrong' })
await post('fetch', { path: 'm/one' }, { method: 'GET', headers: { 'content-length': undefined } })
const raw = await server.raw()
await raw.write('POST /topics/fetch HTTP/1.1\r\nhost: a\r\n\r\n')
await raw.closed
const after = await scrape(adminUrl)

const more = (name: string, labels: Record<string, string> = {}): number =>
  after.value(name, labels) - before.value(name, labels)

await t.test('requests are counted by route and status, over all workers', async (t) => {
  t.equal(more('topicd_requests_total', { route: '/topics/addAndSet', status: '200' }), requests)
  t.equal(more('topicd_requests_total', { route: '/topics/fetch', status: '200' }), requests)
  t.equal(more('topicd_requests_total', { route: '/topics/fetch', status: '400' }), 1)
  t.equal(more('topicd_requests_total', { route: '/topics/fetch', status: '401' }), 1)
  t.equal(more('topicd_requests_total', { route: 'other', status: '405' }), 1)
  t.equal(more('topicd_request_bytes_total', { route: '/topics/addAndSet' }), requests * bodyBytes, 'bytes in')
  const answers = Buffer.byteLength('{"path":"m/one","created":false}') * requests - 1
  t.equal(more('topicd_response_bytes_total', { route: '/topics/addAndSet' }), answers, 'bytes out')
})

await t.test('requests are counted by key name, except those with rejected tokens', async (t) => {
  t.equal(more('topicd_key_requests_total', { key: 'first' }), 2 * requests + 1)
  t.equal(more('topicd_key_requests_total'), 2 * requests + 1)
})

await t.test('every request is counted in the histogram of durations', async (t) => {
  for (const route of ['/topics/addAndSet', '/topics/fetch']) {
    const count = more('topicd_requests_total', { route })
    t.equal(more('topicd_request_duration_seconds_count', { route }), count, route)
    t.equal(more('topicd_request_duration_seconds_bucket', { route, le: '+Inf' }), count, `${route}: the last bucket`)
  }
  const seconds = more('topicd_request_duration_seconds_sum', { route: '/topics/addAndSet' })
  t.ok(seconds > 0 && seconds < requests, `${seconds} s in total`)
})

await t.test('rejected requests are counted by cause', async (t) => {
  for (const cause of ['no_such_topic', 'unauthorized', 'method_not_allowed', 'length_required'])
    t.equal(more('topicd_rejected_total', { cause }), 1, cause)
})

await t.test('the announced lengths of rejected requests are not counted as received bytes', async (t) => {
  const start = await scrape(adminUrl)
  const head = (first: string, ...lengths: readonly string[]) => [first, 'host: x', ...lengths, '', '{}'].join('\r\n')
  for (const first of ['POST /topics/fetch HTTP/1.1', 'GET /healthz HTTP/1.1']) {
    for (const [status, ...lengths] of [
      [400, 'content-length: 2', 'content-length: abc'],
      [400, 'content-length: 2', 'content-length: -5000000000'],
      [401, 'content-length: 999999999999999'],
    ] as const) {
      const connection = await server.raw()
      await connection.write(head(first, ...lengths))
      // A page needs no key and waits for the body.
      const waits = first.startsWith('GET') && status === 401
      if (waits) connection.abort()
      else t.equal((await connection.answer())?.status, status, `${first}: ${lengths.join(', ')}`)
      await connection.closed
    }
  }
  await post('fetch', '{"path":"m/one"}')
  const end = await scrape(adminUrl)
  const bytes = (route: string): number =>
    end.value('topicd_request_bytes_total', { route }) - start.value('topicd_request_bytes_total', { route })
  t.strictSame([bytes('/topics/fetch'), bytes('other')], [16, 0])
})

await t.test('commits are counted with their durations and numbers of writes', async (t) => {
  const writes = more('topicd_writes_total')
  t.ok(writes >= requests, `${writes} writes`)
  t.equal(more('topicd_commit_writes_count'), more('topicd_commit_duration_seconds_count'))
  t.equal(after.value('topicd_writes_failed_total'), 0)
  await Promise.all(Array.from({ length: 60 }, (_, i) => post('addAndSet', { path: `batch/${i}`, value: i })))
  const batched = await scrape(adminUrl)
  const commits = batched.value('topicd_commit_writes_count') - after.value('topicd_commit_writes_count')
  const batchedWrites = batched.value('topicd_commit_writes_sum') - after.value('topicd_commit_writes_sum')
  t.ok(
    commits < batchedWrites && batchedWrites >= 60,
    `concurrent writes share commits: ${commits} for ${batchedWrites}`,
  )
})

await t.test('every write is counted either in a commit or in flight', async (t) => {
  let working = true
  const writers = Array.from({ length: 4 }, async (_, i) => {
    const client = server.connect()
    for (let n = 0; working; n++) await client.post('addAndSet', { path: `busy/${i}`, value: n })
  })
  let inFlight = 0
  for (let i = 0; i < 40; i++) {
    const { value } = await scrape(adminUrl)
    inFlight += value('topicd_writes_in_flight')
    const known = value('topicd_commit_writes_sum') + value('topicd_writes_in_flight')
    if (value('topicd_writes_total') !== known) t.equal(known, value('topicd_writes_total'), `scrape ${i}`)
  }
  working = false
  await Promise.all(writers)
  t.ok(inFlight > 0, `some scrapes saw writes in flight: ${inFlight}`)
})

await t.test('metrics of the store, the disk and the processes are reported', async (t) => {
  const now = await scrape(adminUrl)
  t.equal(now.value('topicd_topics'), 65)
  t.ok(now.value('topicd_store_bytes') > 4096)
  t.ok(now.value('topicd_disk_free_bytes') > 4096)
  t.equal(now.value('topicd_workers'), 2)
  t.equal(now.value('topicd_ready'), 1)
  t.ok(now.value('topicd_connections') > 0)
  t.ok(now.value('process_cpu_seconds_total') > 0)
  t.ok(now.value('process_resident_memory_bytes') > 2 ** 24)
  const [p50 = 0, p99 = 0, max = 0] = ['p50', 'p99', 'max'].map((which) =>
    now.value(`topicd_event_loop_delay_${which}_seconds`),
  )
  t.ok(p50 <= p99 && p99 <= max && max > 0 && max < 60, `event loop delay: ${p50}, ${p99}, ${max} s`)
})

await t.test('each worker reports its memory and event loop to every reader', async (t) => {
  const pids = server.workerPids()
  const stopped = first(pids)
  process.kill(stopped, 'SIGSTOP')
  const stoppedMs = performance.now()
  await until('half a second has passed', async () => performance.now() - stoppedMs > 500 || undefined)
  process.kill(stopped, 'SIGCONT')
  const seen = await until('the delay is reported', async () => {
    const metrics = await scrape(adminUrl)
    return metrics.value('topicd_event_loop_delay_max_seconds') > 0.4 ? metrics : undefined
  })
  const again = await scrape(adminUrl)
  t.ok(again.value('topicd_event_loop_delay_max_seconds') > 0.4, 'a read does not reset the maximum')
  let p99 = 0
  for (const pid of pids.map(String)) {
    const memory = seen.value('topicd_worker_resident_memory_bytes', { pid })
    t.ok(memory > 2 ** 24 && memory < seen.value('process_resident_memory_bytes'), `worker ${pid}: ${memory} bytes`)
    p99 = Math.max(p99, seen.value('topicd_worker_event_loop_delay_p99_seconds', { pid }))
  }
  t.equal(p99, seen.value('topicd_event_loop_delay_p99_seconds'), "the overall value is the slowest worker's")
})

await t.test('no current figures are reported for an unresponsive worker', async (t) => {
  const [stopped = 0, other = 0] = server.workerPids()
  process.kill(stopped, 'SIGSTOP')
  const during = await scrape(adminUrl)
  process.kill(stopped, 'SIGCONT')
  const workers = during.samples.filter(({ name }) => name === 'topicd_worker_event_loop_delay_p99_seconds')
  t.strictSame(
    workers.map(({ labels }) => labels.pid),
    [String(other)],
  )
  t.ok(during.value('topicd_requests_total') >= after.value('topicd_requests_total'), 'the sums keep the counts')
  await until('the worker responds again', async () => {
    const { samples } = await scrape(adminUrl)
    return samples.some(({ labels }) => labels.pid === String(stopped)) || undefined
  })
})

await t.test('the names, types and help texts of metrics follow the conventions', async (t) => {
  const { text, type } = await get(`${adminUrl}/metrics`)
  t.match(type, 'text/plain; version=0.0.4')
  for (const [name, kind] of after.types) {
    t.match(name, /^(topicd|process|nodejs)_[a-z0-9_]+$/, name)
    t.equal(kind === 'counter', name.endsWith('_total'), `${name} is a ${kind}`)
    t.match(text, new RegExp(`^# HELP ${name} [A-Z].*\\.$`, 'm'), `${name} has a help text`)
  }
  const seen = after.samples.map(({ name, labels }) => name + JSON.stringify(labels))
  t.equal(new Set(seen).size, seen.length, 'each sample appears once')
})

const noPromtool =
  spawnSync('promtool', ['--version']).error !== undefined && 'promtool is not installed: the metrics were NOT linted'

await t.test('promtool accepts the metrics, even while workers are replaced', { skip: noPromtool }, async (t) => {
  const lints = async (): Promise<void> => {
    const { text } = await get(`${adminUrl}/metrics`)
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
    t.strictSame({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' })
  }
  await lints()
  for (const pid of server.workerPids()) process.kill(pid, 'SIGKILL')
  await lints()
  await until('two workers are reported', async () =>
    (await scrape(adminUrl)).value('topicd_workers') === 2 ? true : undefined,
  )
})

await t.test('no counter decreases when workers are replaced or killed', async (t) => {
  let last: Metrics = await scrape(adminUrl)
  async function scrapeUnfallen(what: string): Promise<Metrics> {
    const next = await scrape(adminUrl)
    const fallen = last.samples.filter(
      ({ name, labels, value }) => /_(total|bucket|sum|count)$/.test(name) && next.value(name, labels) < value,
    )
    t.strictSame(fallen, [], what)
    last = next
    return next
  }
  server.signal('SIGHUP')
  for (let i = 0; i < 20; i++) {
    await scrapeUnfallen('during a rolling restart')
    await post('fetch', { path: 'm/one' }).catch(() => {})
  }
  await server.logged('rolling restart done')
  const restarts = last.value('topicd_worker_restarts_total')
  process.kill(first(server.workerPids()), 'SIGKILL')
  const restarted = await until('the killed worker is replaced', async () => {
    const metrics = await scrapeUnfallen('after a kill')
    return metrics.value('topicd_worker_restarts_total') > restarts && metrics.value('topicd_workers') === 2
      ? metrics
      : undefined
  })
  const { value } = restarted
  t.ok(value('topicd_requests_total', { status: '200' }) >= 2 * requests, 'counts of former workers are kept')
})
