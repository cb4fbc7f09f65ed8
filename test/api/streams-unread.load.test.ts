/**
 * Streams whose clients read nothing: each costs its position and its kernel buffers, no other client waits, and a client that
 * reads again gets the missing changes. SECONDS=3600 CLIENTS=1000 shows that memory stays flat for an hour.
 */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { reportResults } from '../support/proof-results.js'
import { ChangesStream } from '../support/service/changes.js'
import { scrape } from '../support/service/metrics.js'
import { requestText } from '../support/service/raw.js'
import { type Server, startServer, until } from '../support/service/server.js'

const unread = 200
const changes = 300
const valueBytes = 50_000

/** Maximum growth of a worker, in bytes: a thirtieth of the growth if it kept all unread data. */
const growthMax = (unread * changes * valueBytes) / 30

/** Duration of the writes, on a machine that is fast enough, and number of clients that read nothing. */
const seconds = Number(process.env.SECONDS ?? 6)
const clients = Number(process.env.CLIENTS ?? 100)

/** 10,000 changes per second. */
const batchesPerSecond = 10
const operations = 1000

/** Maximum growth of the larger worker between the early and the late part of the run: fragmentation and garbage. */
const lateGrowthMaxMiB = 64

t.setTimeout((300 + 3 * seconds) * 1000)

/** Opens a stream and never reads from it. */
async function openUnread({ url, port, token }: Server): Promise<Socket> {
  const body = JSON.stringify({ selector: '*u//' })
  const socket = connect(port, new URL(url).hostname)
  socket.on('error', () => {})
  socket.pause()
  socket.write(requestText('/topics/changes', token, body, ['accept: text/event-stream']))
  return socket
}

t.test('clients that do not read their streams cost little memory and delay no other client', async (t) => {
  const server = await startServer(t)
  const resident = async (): Promise<number> =>
    (await scrape(server.adminUrl)).value('topicd_worker_resident_memory_bytes')
  const sockets: Socket[] = []
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  for (let i = 0; i < unread; i++) sockets.push(await openUnread(server))
  const { url, token } = server
  const reader = await ChangesStream.open({ url, token }, { selector: '*u//' })
  await reader.complete('the state')
  await until('all streams are open', async () => ((await streamsOf(server)) === unread + 1 ? true : undefined))
  const before = await resident()
  let largest = before
  for (let i = 1; i <= changes; i++) {
    const value = `${i} ${'x'.repeat(valueBytes)}`
    await server.post('addAndSet', { path: `u/${i % 10}`, value })
    await reader.complete(`the change ${i}`, ({ topics }) => topics.get(`u/${i % 10}`)?.value === value)
    if (i % 20 === 0) largest = Math.max(largest, await resident())
  }
  t.comment(`${Math.round((largest - before) / 2 ** 20)} MiB more, with ${unread} clients that read nothing`)
  t.ok(largest - before < growthMax, `the worker grew by ${largest - before} bytes at most`)
  const late = sockets.find((socket) => !socket.destroyed)
  let text = ''
  late?.setEncoding('utf8').on('data', (piece: string) => (text = (text + piece).slice(-2 * valueBytes)))
  late?.resume()
  // The service may have closed the connection because its client read nothing.
  const last = `"value":"${changes} `
  await until('the client has the last change or is disconnected', async () =>
    text.includes(last) || late?.destroyed ? true : undefined,
  )
  t.pass('a client that reads again is not stuck')
  reader.close()
})

t.test('while streams stay unread, memory does not grow and other clients are served as before', async (t) => {
  const server = await startServer(t, { workers: 2 })
  let opened = 0
  const open: Socket[] = []
  t.teardown(() => open.forEach((socket) => socket.destroy()))
  /** The service disconnects a client that reads nothing for long; a paused client does not notice, so open others. */
  const openMissing = async (): Promise<void> => {
    const missing = clients + 1 - (await streamsOf(server))
    for (let i = 0; i < missing; i++) {
      if (open.length === clients) open.shift()?.destroy()
      open.push(await openUnread(server))
      opened++
    }
  }
  const longestMs = { early: 0, late: 0 }
  const largestMiB = { early: 0, late: 0 }
  const { url, token } = server
  let reader = await ChangesStream.open({ url, token }, { selector: '>u/0' })
  /** Waits for the value; resumes in a new stream if the service has ended the old one. */
  const shows = (value: string): Promise<true> =>
    until(`the batch ${value} arrives`, async () => {
      const { fold, isEnded } = reader
      if (fold.isComplete && fold.topics.get('u/0')?.value === value) return true
      if (!isEnded) return undefined
      const since = fold.next === undefined ? {} : { lastEventId: fold.next }
      reader = await ChangesStream.open({ url, token, ...since }, { selector: '>u/0' })
      return undefined
    })
  const beganMs = performance.now()
  const batches = seconds * batchesPerSecond
  for (let n = 0; n < batches; n++) {
    const dueMs = beganMs + (n * 1000) / batchesPerSecond
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())))
    const value = String(n)
    if (n % (2 * batchesPerSecond) === 0) await openMissing()
    const operationsOf = Array.from({ length: operations }, (_, i) => ({ op: 'addAndSet', path: `u/${i}`, value }))
    const sentMs = performance.now()
    const { status, text } = await server.post('batch', { operations: operationsOf })
    if (status !== 200) t.fail(text)
    await shows(value)
    const share = n / batches
    // After a tenth of the run, everything that is needed only occasionally has been allocated.
    const when = share < 0.1 ? undefined : share < 0.3 ? 'early' : share > 0.8 ? 'late' : undefined
    if (when === undefined) continue
    longestMs[when] = Math.max(longestMs[when], performance.now() - sentMs)
    largestMiB[when] = Math.max(largestMiB[when], ...server.workerPids().map(anonymousMiB))
  }
  reader.close()
  t.ok(largestMiB.late < largestMiB.early + lateGrowthMaxMiB, `${largestMiB.early} MiB early, ${largestMiB.late} late`)
  reportResults(t, {
    seconds,
    changes: batches * operations,
    streams: opened,
    earlyMiBMax: largestMiB.early,
    lateMiBMax: largestMiB.late,
    earlyMsMax: Math.round(longestMs.early),
    lateMsMax: Math.round(longestMs.late),
  })
})

async function streamsOf({ adminUrl }: Server): Promise<number> {
  return (await scrape(adminUrl)).value('topicd_changes_streams')
}

/** A process's anonymous memory, without mapped files; 0 if it has exited. */
function anonymousMiB(pid: number): number {
  try {
    const [, kiB = 0] = /^RssAnon:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Math.round(Number(kiB) / 1024)
  } catch {
    return 0
  }
}
