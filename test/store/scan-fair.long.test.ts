/**
 * Scans that find nothing, on the only worker, leave it to others: fetches by path stay quick while one scan runs, while
 * many do, and whatever the pattern; scans share the turns; and a scan ends with its client.
 *
 * `SCAN_TOPICS=1000000` in the environment makes the tree as large as the claim in docs/selectors.md.
 */

import { join } from 'node:path'
import t from 'tap'
import { Cancelled } from '../../dist/store/store.js'
import type { Client } from '../support/client.js'
import { first, medianOf } from '../support/only.js'
import { processorMs } from '../support/processes.js'
import { startServer } from '../support/server.js'
import { load, makeDirectory, openStore, planned, readItems, spin, watched } from '../support/store.js'

const topics = Number(process.env.SCAN_TOPICS ?? 100_000)
/**
 * Others wait for slices, not for scans. A millisecond or two on a quiet machine; on a busy one the scan itself takes longer too,
 * and a scan in one piece would keep them waiting for half of it.
 */
const medianMsMin = 5
const slicesPerScanMin = 10

/** Many short scans keep this process busy too, on a busy machine above all; a scan in one piece would take much longer. */
const hostileMedianMsMax = 100

/** Fetches that a median is taken of, at least. */
const fetchesMin = 60

const plain = Array.from({ length: topics }, (_, i) => `a/x${Math.floor(i / 1000)}/hum/${i % 1000}`)
/** What hostile patterns are tried on: many paths, and some of the longest. */
const hostile = Array.from({ length: 1500 }, (_, i) => `h/${'a'.repeat(24)}${'x'.repeat(i % 12)}${i}`)
const longest = Array.from({ length: 12 }, (_, i) => `l/${'a'.repeat(1960)}${i}`)

/** A pattern that every path must be tried against and none matches. */
const fruitless = '*.*/nothing'

interface Latencies {
  readonly count: number
  readonly medianMs: number
  readonly maxMs: number
}

/** Fetches by path, one after the other, while `work` is done, again and again until they are many; each must be right. */
async function latenciesDuring(client: Client, work: () => Promise<unknown>): Promise<Latencies> {
  const latencies: number[] = []
  let ended = false
  const works = (async () => {
    do await work()
    while (latencies.length < fetchesMin)
  })().finally(() => (ended = true))
  while (!ended) {
    const path = plain[(latencies.length * 7919) % topics]
    const startedAt = performance.now()
    const { status, text } = await client.post('fetch', { path })
    latencies.push(performance.now() - startedAt)
    if (status !== 200 || !text.endsWith(`"value":"${path}"}`))
      throw new Error(`${path} was answered ${status}: ${text}`)
  }
  await works
  latencies.sort((a, b) => a - b)
  return { count: latencies.length, medianMs: medianOf(latencies), maxMs: Math.max(...latencies) }
}

function words({ count, medianMs, maxMs }: Latencies): string {
  return `${count} fetches, median ${medianMs.toFixed(2)} ms, longest ${maxMs.toFixed(1)} ms`
}

t.test(`scans over ${topics} topics on the only worker`, async (t) => {
  const dataDir = join(t.testdir(), 'db')
  await makeDirectory(dataDir, [...plain, ...hostile, ...longest])
  const server = await startServer(t, { dataDir })
  const fetcher = server.connect()
  const scanners = server.connect(32)

  /** A scan that matches nothing; answers how long it took, in ms. */
  const scan = async (selector = fruitless): Promise<number> => {
    const startedAt = performance.now()
    const { text } = await scanners.post('fetch', { selector })
    if (text !== '{"has_more":false,"results":[]}') throw new Error(`${selector} was answered ${text}`)
    return performance.now() - startedAt
  }
  const scanMs = await scan()
  const medianMsMax = Math.max(medianMsMin, scanMs / slicesPerScanMin)
  t.comment(`a scan alone takes ${scanMs.toFixed(0)} ms`)

  await t.test('while one runs, fetches by path wait for a slice of it at most, in the median', async (t) => {
    const latencies = await latenciesDuring(fetcher, () => scan())
    t.ok(latencies.medianMs < medianMsMax, words(latencies))
  })

  await t.test('while 32 run at once too', async (t) => {
    const latencies = await latenciesDuring(fetcher, () => Promise.all(Array.from({ length: 32 }, () => scan())))
    t.ok(latencies.medianMs < medianMsMax, words(latencies))
  })

  await t.test('scans share the turns: one of a few thousand topics does not wait for long ones', async (t) => {
    let longEnded = 0
    const long = Array.from({ length: 16 }, () => scan().then(() => longEnded++))
    await fetcher.post('fetch', { path: plain[0] })
    await scan('*a/x1.?/.*/nothing')
    t.equal(longEnded, 0, 'it came back before any of the 16 that had begun before it')
    await Promise.all(long)
  })

  await t.test('whatever the pattern, others are served meanwhile', async (t) => {
    const patterns = [
      '(a+)+$',
      '(a|aa)+b',
      '(x+x+)+y',
      '(.*)*(.*)*z',
      '(a|b)*a(a|b){300}',
      '((a?){20}){15}c',
      '(.*a){300}',
    ]
    const plainMs = await scan('?h/[0-9].*')
    for (const pattern of patterns) {
      for (const selector of [`?h/${pattern}`, `*h/${pattern}`]) {
        let ms = 0
        const latencies = await latenciesDuring(fetcher, async () => (ms = await scan(selector)))
        // The worst patterns that are allowed cost about a millisecond a topic; a backtracking engine takes years.
        const msMax = 100 * plainMs + 3 * hostile.length
        t.ok(ms < msMax, `${selector}: ${ms.toFixed(0)} ms, a plain scan ${plainMs.toFixed(0)} ms`)
        t.ok(latencies.medianMs < hostileMedianMsMax, words(latencies))
      }
      const latencies = await latenciesDuring(fetcher, () => scan(`?l/${pattern}`))
      t.ok(latencies.medianMs < hostileMedianMsMax, `on the longest paths: ${words(latencies)}`)
    }
  })

  await t.test('a client that has gone stops its scans', async (t) => {
    const worker = first(server.workerPids())
    const before = processorMs(worker)
    await Promise.all(Array.from({ length: 4 }, () => scan()))
    const eachMs = (processorMs(worker) - before) / 4
    const leaving = server.connect(32)
    const left = Array.from({ length: 32 }, () => leaving.post('fetch', { selector: fruitless }).catch(() => 'gone'))
    // Once this has been answered, the 32 have reached the worker, which has far to go with them.
    await fetcher.post('fetch', { path: plain[0] })
    await fetcher.post('fetch', { path: plain[0] })
    leaving.close()
    const goneAt = processorMs(worker)
    t.strictSame([...new Set(await Promise.all(left))], ['gone'], 'none was answered')
    // Had any of them gone on, it would be done before this one, which began later and takes its turns with them.
    await Promise.all([scan(), scan()])
    const spentMs = processorMs(worker) - goneAt
    t.ok(spentMs < 8 * eachMs, `${spentMs} ms for two more scans of ${eachMs.toFixed(0)} ms, and 32 that were given up`)
  })
})

t.test('a scan and a bulk removal stop at their next slice once nobody waits for them', async (t) => {
  const store = openStore(t, join(t.testdir(), 'db'))
  const paths = Array.from({ length: 300 }, (_, i) => `a/${i}`)
  await load(store, paths)
  const waitings = { scan: { cancelled: false }, removal: { cancelled: false } }
  const works = {
    scan: (plan: ReturnType<typeof planned>) => readItems(store, { plan }, waitings.scan),
    removal: (plan: ReturnType<typeof planned>) => store.removeMatches(plan, waitings.removal),
  }
  for (const name of ['scan', 'removal'] as const) {
    let visits = 0
    let visitsThen = 0
    const plan = watched(planned('*.*/nothing'), () => {
      visits++
      spin(0.3)
      if (visits === 50) {
        waitings[name].cancelled = true
        visitsThen = visits
      }
    })
    const outcome = await (works[name](plan) as Promise<unknown>).catch((error: unknown) => error)
    t.ok(outcome instanceof Cancelled, `the ${name} says that it was not finished`)
    t.ok(visits < visitsThen + 10, `the ${name} visited ${visits - visitsThen} more of ${paths.length} topics`)
  }
})
