/**
 * Scans that find nothing, on the only worker, leave time for other requests. Fetches by path stay fast alongside one scan or many, for any
 * pattern. Scans share the turns of the event loop, and a scan ends when its client disconnects.
 *
 * `SCAN_TOPICS=1000000` makes the tree as large as the one measured in docs/selectors.md.
 */

import { join } from 'node:path'
import t from 'tap'
import { Cancelled } from '../../dist/base/cancellation.js'
import { first, medianOf } from '../support/elements.js'
import { processorMs } from '../support/machines/processes.js'
import type { Client } from '../support/service/client.js'
import { startServer } from '../support/service/server.js'
import { load, makeDirectory, openStore, planned, readItems, spin, waiting, watched } from '../support/stores/store.js'

const topics = Number(process.env.SCAN_TOPICS ?? 50_000)
/**
 * The limit on the median wait of other requests: this, or the time of a scan divided by `slicesPerScanMin` if that is more. Requests wait
 * for slices: 1 or 2 ms on a quiet machine, longer on a busy one, where the scan also takes longer. Behind a scan in one piece they would
 * wait for half of it.
 */
const medianMsMin = 5
const slicesPerScanMin = 10

/** Many short scans also keep this process busy, above all on a busy machine. A scan in one piece takes much longer. */
const hostileMedianMsMax = 100

/** Minimum number of fetches for a median. */
const fetchesMin = 40

const plain = Array.from({ length: topics }, (_, i) => `a/x${Math.floor(i / 1000)}/hum/${i % 1000}`)
/** Targets of hostile patterns: many paths, and some of the longest. */
const hostile = Array.from({ length: 700 }, (_, i) => `h/${'a'.repeat(24)}${'x'.repeat(i % 12)}${i}`)
const longest = Array.from({ length: 12 }, (_, i) => `l/${'a'.repeat(1960)}${i}`)

/** A pattern that must be tried against every path and matches none. */
const fruitless = '*.*/nothing'

interface Latencies {
  readonly count: number
  readonly medianMs: number
  readonly maxMs: number
}

/** Fetches by path, one at a time, while `work` repeats, until there are enough. Each response must be correct. */
async function latenciesDuring(client: Client, work: () => Promise<unknown>): Promise<Latencies> {
  const latencies: number[] = []
  let ended = false
  const working = (async () => {
    do await work()
    while (latencies.length < fetchesMin)
  })().finally(() => (ended = true))
  while (!ended) {
    const path = plain[(latencies.length * 7919) % topics]
    const startedAt = performance.now()
    const { status, text } = await client.post('fetch', { path })
    latencies.push(performance.now() - startedAt)
    if (status !== 200 || !text.endsWith(`"value":"${path}"}`)) throw new Error(`${path} got ${status}: ${text}`)
  }
  await working
  latencies.sort((a, b) => a - b)
  return { count: latencies.length, medianMs: medianOf(latencies), maxMs: Math.max(...latencies) }
}

function summary({ count, medianMs, maxMs }: Latencies): string {
  return `${count} fetches, median ${medianMs.toFixed(2)} ms, longest ${maxMs.toFixed(1)} ms`
}

t.test(`scans over ${topics} topics leave the only worker responsive`, async (t) => {
  const dataDir = join(t.testdir(), 'db')
  await makeDirectory(dataDir, [...plain, ...hostile, ...longest])
  const server = await startServer(t, { dataDir })
  const fetcher = server.connect()
  const scanners = server.connect(32)

  /** Runs a scan that matches nothing; returns how long it took, in ms. */
  const scan = async (selector = fruitless): Promise<number> => {
    const startedAt = performance.now()
    const { text } = await scanners.post('fetch', { selector })
    if (text !== '{"has_more":false,"results":[]}') throw new Error(`${selector} got ${text}`)
    return performance.now() - startedAt
  }
  const scanMs = await scan()
  const medianMsMax = Math.max(medianMsMin, scanMs / slicesPerScanMin)
  t.comment(`a scan alone takes ${scanMs.toFixed(0)} ms`)

  await t.test('fetches by path wait for slices of 32 concurrent scans, not for whole scans', async (t) => {
    const latencies = await latenciesDuring(fetcher, () => Promise.all(Array.from({ length: 32 }, () => scan())))
    t.ok(latencies.medianMs < medianMsMax, summary(latencies))
  })

  await t.test('a short scan does not wait for long scans that started earlier', async (t) => {
    let longEnded = 0
    const long = Array.from({ length: 16 }, () => scan().then(() => longEnded++))
    await fetcher.post('fetch', { path: plain[0] })
    await scan('*a/x1.?/.*/nothing')
    t.equal(longEnded, 0, 'the short scan ends before all 16 long ones')
    await Promise.all(long)
  })

  await t.test('fetches by path stay fast during scans with hostile patterns', async (t) => {
    const patterns = ['(a+)+$', '(a|b)*a(a|b){110}']
    const plainMs = await scan('?h/[0-9].*')
    for (const pattern of patterns) {
      for (const selector of [`?h/${pattern}`, `*h/${pattern}`]) {
        let ms = 0
        const latencies = await latenciesDuring(fetcher, async () => (ms = await scan(selector)))
        // The worst patterns that are allowed take about 1 ms per topic; a backtracking engine would take years.
        const msMax = 100 * plainMs + 3 * hostile.length
        t.ok(ms < msMax, `${selector}: ${ms.toFixed(0)} ms, a plain scan ${plainMs.toFixed(0)} ms`)
        t.ok(latencies.medianMs < hostileMedianMsMax, summary(latencies))
      }
      const latencies = await latenciesDuring(fetcher, () => scan(`?l/${pattern}`))
      t.ok(latencies.medianMs < hostileMedianMsMax, `on the longest paths: ${summary(latencies)}`)
    }
  })

  await t.test('the scans of a disconnected client stop', async (t) => {
    const worker = first(server.workerPids())
    const before = processorMs(worker)
    await Promise.all(Array.from({ length: 4 }, () => scan()))
    const eachMs = (processorMs(worker) - before) / 4
    const leaving = server.connect(32)
    const scans = Array.from({ length: 32 }, () => leaving.post('fetch', { selector: fruitless }).catch(() => 'gone'))
    // Once these are answered, the 32 scans have reached the worker and are far from their ends.
    await fetcher.post('fetch', { path: plain[0] })
    await fetcher.post('fetch', { path: plain[0] })
    leaving.close()
    const goneAt = processorMs(worker)
    t.strictSame([...new Set(await Promise.all(scans))], ['gone'], 'no scan was answered')
    // If any of the 32 had continued, it would end before these two, which start later and share the turns with it.
    await Promise.all([scan(), scan()])
    const spentMs = processorMs(worker) - goneAt
    t.ok(spentMs < 8 * eachMs, `two scans of ${eachMs.toFixed(0)} ms, and the 32 that were stopped, took ${spentMs} ms`)
  })
})

t.test('a cancelled removal has removed the matches that it had visited', async (t) => {
  const store = openStore(t, join(t.testdir(), 'db'))
  const others = Array.from({ length: 300 }, (_, i) => `b/${i}`)
  await load(store, [...Array.from({ length: 100 }, (_, i) => `a/${i}`), ...others])
  const cancellation = new AbortController()
  let visits = 0
  const matcher = (path: string): boolean => {
    spin(0.1)
    if (++visits === 250) cancellation.abort()
    return path.startsWith('a/')
  }
  const plan = { ranges: planned('*.*').ranges, matcher }
  const outcome = await store.removeMatches(plan, cancellation.signal).catch((error: unknown) => error)
  t.ok(outcome instanceof Cancelled)
  t.equal(await store.countMatches(planned('*.*'), 'any', waiting), others.length)
})

t.test('a cancelled scan or bulk removal stops at its next slice', async (t) => {
  const store = openStore(t, join(t.testdir(), 'db'))
  const paths = Array.from({ length: 300 }, (_, i) => `a/${i}`)
  await load(store, paths)
  const cancellations = { scan: new AbortController(), removal: new AbortController() }
  const operations = {
    scan: (plan: ReturnType<typeof planned>) => readItems(store, { plan }, cancellations.scan.signal),
    removal: (plan: ReturnType<typeof planned>) => store.removeMatches(plan, cancellations.removal.signal),
  }
  for (const name of ['scan', 'removal'] as const) {
    let visits = 0
    let visitsAtCancel = 0
    const plan = watched(planned('*.*/nothing'), () => {
      visits++
      spin(0.3)
      if (visits === 50) {
        cancellations[name].abort()
        visitsAtCancel = visits
      }
    })
    const outcome = await (operations[name](plan) as Promise<unknown>).catch((error: unknown) => error)
    t.ok(outcome instanceof Cancelled, `the ${name} rejects with Cancelled`)
    t.ok(visits < visitsAtCancel + 10, `the ${name} visits only ${visits - visitsAtCancel} more topics`)
  }
})
