/**
 * Hostile requests over bare connections, mutated from real ones: each is answered as documented or has its connection
 * closed, what follows a sound one on its connection is understood, no worker dies, their memory stays flat, other
 * topics are unchanged, and another client waits about as long as before. Nor does one client's stream of batches make
 * others wait. FUZZ_REQUESTS=100000 sends more. SLOWER_MAX=2 demands of the other clients' medians what a quiet machine
 * gives.
 */
import t, { type Test } from 'tap'
import { at } from '../support/elements.js'
import { OtherClient } from '../support/load/other-client.js'
import { residentMiB } from '../support/machines/processes.js'
import { undocumented } from '../support/models/documented-answers.js'
import { type Fuzzed, fuzz } from '../support/models/fuzzer.js'
import { hostileRequest } from '../support/models/hostile-requests.js'
import { routes } from '../support/models/valid-bodies.js'
import { reportResults } from '../support/proof-results.js'
import { randomFrom, seededRandom } from '../support/random.js'
import { type Server, startServer } from '../support/service/server.js'

const requests = Number(process.env.FUZZ_REQUESTS ?? 4000)

/** How much slower the other client's median may be: by default, as much as on a busy machine. */
const slowerMax = Number(process.env.SLOWER_MAX ?? 8)

/** A write waits for the commit of the batch before it as well as for its own. */
const slowerWriteMax = slowerMax * 1.5

/** Operations of each batch that others wait beside. */
const batchOperations = 100

/** The other client's answers are measured for so long before; for as long as all requests take beside them. */
const aloneSeconds = requests >= 50_000 ? 20 : 3

/** How much larger a worker's own memory may be at the end than after a tenth. A short run ends while they warm up. */
const growthMax = 1.3
const growthRequestsMin = 50_000

t.setTimeout(120_000 + requests * 20)

/** What the other clients' waits beside a stream of batches were, once that has been measured. */
let batchResults: Readonly<Record<string, number>> = {}

/** The larger worker's own memory, in MiB. */
function ownMiB(server: Server): number {
  return Math.max(...server.workerPids().map((pid) => residentMiB(pid).own))
}

/** What must have been among the requests and answers, or the run has shown nothing of it. */
function checkVariety(t: Test, { sent, answered }: Fuzzed): void {
  for (const route of routes) {
    for (const form of ['whole', 'chunked', 'cut', 'lost', 'reset', 'mutated', 'valid'])
      if (!sent[`${route} ${form}`]) t.fail(`no ${form} request to ${route}`)
    if (!answered[`${route} 200`]) t.fail(`no 200 from ${route}`)
    if (!answered[`${route} 400`]) t.fail(`no 400 from ${route}`)
  }
}

t.test('the check of answers finds what is not documented', async (t) => {
  const random = randomFrom(1)
  const answer = (status: number, body: string) =>
    ({ status, head: 'http/1.1\r\ncontent-type: application/json', body }) as const
  for (const route of routes) {
    let request = hostileRequest(random, 'token')
    while (request.route !== route || !request.isValid || request.isMutated || request.sent !== 'whole')
      request = hostileRequest(random, 'token')
    for (const [status, body] of [
      [200, '{}'],
      [200, '{"path":5}'],
      [200, '{"removed":-1}'],
      [200, '{"has_more":true,"results":[{"path":"a"}]}'],
      [400, '{"code":"invalid_json","message":""}'],
      [400, '{"code":"unauthorized","message":""}'],
      [500, '{"code":"internal_error","message":""}'],
      [503, '{"code":"overloaded","message":""}'],
      [507, '{"code":"disk_nearly_full","message":""}'],
    ] as const) {
      t.ok(undocumented(request, answer(status, body)), `${status} ${body} from ${route}`)
      if (status >= 500) t.ok(undocumented({ ...request, isMutated: true }, answer(status, body)), 'mutated, too')
    }
    t.ok(undocumented({ ...request, sent: 'lost' }, answer(200, '{"path":"a"}')), 'a 200 to a part of a request')
  }
})

t.test('one client that sends batches without pause costs others little', async (t) => {
  const server = await startServer(t, { workers: 2 })
  await server.post('addAndSet', { path: 'read', value: 1 })
  const reader = new OtherClient(t, server, server.token, 'fetch', { path: 'read' })
  const writer = new OtherClient(t, server, server.token, 'addAndSet', { path: 'written', value: 1 })
  // Their first second, in which code is compiled, does not count.
  await Promise.all([reader.seen(1), writer.seen(1)])
  const [readAlone, writtenAlone] = await Promise.all([reader.seen(aloneSeconds), writer.seen(aloneSeconds)])
  const stream = server.connect(1)
  let batches = 0
  let isStopping = false
  const send = async (): Promise<void> => {
    for (; !isStopping; batches++) {
      const operations = Array.from({ length: batchOperations }, (_, i) => {
        return { op: 'addAndSet', path: `batch/${(batches * 7919 + i * 31) % 5000}`, value: batches }
      })
      const { status, text } = await stream.post('batch', { operations })
      if (status !== 200) throw new Error(`batch ${batches}: ${status} ${text}`)
    }
  }
  const sending = send()
  const [readBeside, writtenBeside] = await Promise.all([reader.seen(aloneSeconds), writer.seen(aloneSeconds)])
  isStopping = true
  await sending
  const all = { readAlone, writtenAlone, readBeside, writtenBeside }
  t.strictSame(
    Object.values(all).flatMap(({ faults }) => faults),
    [],
    'the others were answered each time',
  )
  t.ok(batches >= aloneSeconds, `${batches} batches were answered`)
  const [read, write] = [readBeside.medianMs / readAlone.medianMs, writtenBeside.medianMs / writtenAlone.medianMs]
  t.ok(read <= slowerMax, `a fetch's median was ${readAlone.medianMs} ms alone and ${readBeside.medianMs} ms beside`)
  t.ok(write <= slowerWriteMax, `a write's ${writtenAlone.medianMs} ms and ${writtenBeside.medianMs} ms`)
  batchResults = Object.fromEntries(
    Object.entries(all).map(([name, { medianMs }]) => [`${name}UsMax`, Math.round(medianMs * 1000)]),
  )
})

/** How many of each form of request the route got that had the fewest. */
function leastOf({ sent, answered }: Fuzzed): Record<string, number> {
  const counts = { ...sent, ...answered }
  const forms = ['whole', 'chunked', 'cut', 'lost', 'reset', 'mutated', 'valid', '200']
  return Object.fromEntries(
    forms.map((form) => [`${form} to each route`, Math.min(...routes.map((route) => counts[`${route} ${form}`] ?? 0))]),
  )
}

t.test('hostile requests end no worker, cost others little, and change only what their key allows', async (t) => {
  const random = seededRandom(t)
  const server = await startServer(t, { workers: 2 })
  // The topics that must not change have a key of their own, and the fuzzed requests' key cannot reach them.
  const keeper = await server.addKey('keeper', { under: ['kept'] })
  const post = (route: string, members: object) => server.client.post(route, members, { token: keeper })
  for (let i = 0; i < 10; i++) await post('addAndSet', { path: `kept/${i}`, value: i })
  const pids = server.workerPids()
  const fuzzed = await server.addKey('fuzzer', { under: ['fuzz', 'a', 'plant', 'accounts'] })
  const otherClient = new OtherClient(t, server, keeper, 'fetch', { path: 'kept/1' })
  // Its first second, in which code is compiled, does not count.
  await otherClient.seen(1)
  const alone = await otherClient.seen(aloneSeconds)
  const memory: number[] = []
  const startMs = performance.now()
  const found = await fuzz(server.url, fuzzed, random, requests, () => memory.push(ownMiB(server)))
  const seconds = Math.round((performance.now() - startMs) / 1000)
  const beside = await otherClient.seen(1)
  const slower = beside.medianMs / alone.medianMs
  for (const fault of found.faults) t.fail(fault)
  t.strictSame(server.workerPids(), pids, 'no worker died')
  t.strictSame([...alone.faults, ...beside.faults], [], 'the other client was answered each time')
  t.ok(slower <= slowerMax, `its median was ${alone.medianMs} ms alone and ${beside.medianMs} ms beside`)
  if (requests >= growthRequestsMin)
    t.ok(at(memory, -1) < growthMax * at(memory, 0), `MiB after each tenth: ${memory.map(Math.round)}`)
  for (let i = 0; i < 10; i++) {
    const { text } = await post('fetch', { path: `kept/${i}` })
    t.equal(text, `{"path":"kept/${i}","type":"json","value":${i}}`, 'other topics are unchanged')
  }
  checkVariety(t, found)
  reportResults(t, {
    requests,
    seconds,
    ...leastOf(found),
    markers: found.markers,
    undocumented: found.faults.length,
    deadWorkers: pids.filter((pid) => !server.workerPids().includes(pid)).length,
    firstMiBMax: Math.round(at(memory, 0)),
    lastMiBMax: Math.round(at(memory, -1)),
    aloneUsMax: Math.round(alone.medianMs * 1000),
    besideUsMax: Math.round(beside.medianMs * 1000),
    besideP99UsMax: Math.round(beside.p99Ms * 1000),
    besideMsMax: Math.round(beside.maxMs),
    ...batchResults,
  })
})
