/**
 * Hostile requests over bare connections, derived from the API description's examples. Each gets a described response or has its
 * connection closed, and a request after a valid one is understood. No worker dies, memory stays flat, other topics stay
 * unchanged, and another client is always answered. FUZZ_REQUESTS=100000 sends more.
 */
import t from 'tap'
import { apiRoutes } from '../../dist/api/routes/routes.js'
import { at } from '../support/elements.js'
import { OtherClient } from '../support/load/other-client.js'
import { residentMiB } from '../support/machines/processes.js'
import { fuzz } from '../support/models/fuzzer.js'
import { reportResults } from '../support/proof-results.js'
import { seededRandom } from '../support/random.js'
import { startServer } from '../support/service/server.js'

const requests = Number(process.env.FUZZ_REQUESTS ?? 4000)

/** Maximum growth of a worker's own memory between a tenth of the run and its end. */
const growthMax = 1.3
/** Caches fill during the first 200,000 requests, so a tenth of a shorter run is too early. */
const growthRequestsMin = 1_000_000

const routes = apiRoutes.filter(({ examples }) => examples.length > 0).map(({ name }) => name)

/** Each route must get each form; otherwise the run has not tested that form. */
const forms = ['whole', 'chunked', 'cut', 'lost', 'reset', 'mutated', 'valid', 'changed', '200', '400']

t.setTimeout(120_000 + requests * 20)

t.test('hostile requests get only responses that the API description contains, and crash no worker', async (t) => {
  const random = seededRandom(t)
  const server = await startServer(t, { workers: 2 })
  // The topics that must not change have their own key, and the fuzzed requests' key cannot reach them.
  const keeper = await server.addKey('keeper', { under: ['kept'] })
  const post = (route: string, members: object) => server.client.post(route, members, { token: keeper })
  for (let i = 0; i < 10; i++) await post('addAndSet', { path: `kept/${i}`, value: i })
  const pids = server.workerPids()
  const fuzzed = await server.addKey('fuzzer', { under: ['a', 'plant', 'accounts'] })
  const otherClient = new OtherClient(t, server, keeper, 'fetch', { path: 'kept/1' })
  // The first second, in which code is compiled, does not count.
  await otherClient.seen(1)
  const alone = await otherClient.seen(3)
  const memory: number[] = []
  const startMs = performance.now()
  const { counts, markers, faults } = await fuzz(server.url, fuzzed, random, requests, () =>
    memory.push(Math.max(...server.workerPids().map((pid) => residentMiB(pid).own))),
  )
  const seconds = Math.round((performance.now() - startMs) / 1000)
  const beside = await otherClient.seen(1)
  for (const fault of faults) t.fail(fault)
  t.strictSame(server.workerPids(), pids, 'no worker died')
  t.strictSame([...alone.faults, ...beside.faults], [], 'the other client was always answered')
  if (requests >= growthRequestsMin)
    t.ok(at(memory, -1) < growthMax * at(memory, 0), `MiB after each tenth: ${memory.map(Math.round)}`)
  for (let i = 0; i < 10; i++) {
    const { text } = await post('fetch', { path: `kept/${i}` })
    t.equal(text, `{"path":"kept/${i}","type":"json","value":${i}}`, 'other topics are unchanged')
  }
  const least = forms.map((form) => {
    const count = Math.min(...routes.map((route) => counts[`/topics/${route} ${form}`] ?? 0))
    t.ok(count > 0, `each route had ${form}`)
    return [`${form} to each route`, count] as const
  })
  t.ok(markers > 0, 'requests followed sound ones')
  reportResults(t, {
    requests,
    seconds,
    ...Object.fromEntries(least),
    markers,
    undocumented: faults.length,
    deadWorkers: pids.filter((pid) => !server.workerPids().includes(pid)).length,
    firstMiBMax: Math.round(at(memory, 0)),
    lastMiBMax: Math.round(at(memory, -1)),
    aloneUsMax: Math.round(alone.medianMs * 1000),
    besideUsMax: Math.round(beside.medianMs * 1000),
    besideP99UsMax: Math.round(beside.p99Ms * 1000),
    besideMsMax: Math.round(beside.maxMs),
  })
})
