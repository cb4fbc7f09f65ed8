/**
 * Readers that consume their pages promptly get complete responses, even if many start together and their pages exceed a worker's
 * buffers, and alongside clients that read nothing. Only the latter are disconnected. If a value does not fit at the moment, its
 * fetch is rejected, and a later one succeeds.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { only } from '../support/elements.js'
import { residentMiB } from '../support/machines/processes.js'
import type { FetchedPage } from '../support/service/client.js'
import { scrape } from '../support/service/metrics.js'
import { type RawAnswer, type RawConnection, requestText } from '../support/service/raw.js'
import { type Server, startServer, until } from '../support/service/server.js'

const mebibyte = 1024 * 1024
/** Together, their pages of 8 MiB are 1.5 times a worker's buffers for its clients. */
const readers = 24

/** As in `http/overload`: the maximum memory of one worker under any load. */
const residentMiBMax = 450

const value = 'x'.repeat(100_000)
const paths = Array.from({ length: 240 }, (_, i) => `big/${1000 + i}`)

/** Requests one response, which ends the connection. */
async function ask(server: Server, connection: RawConnection, body: object): Promise<void> {
  await connection.write(requestText('/topics/fetch', server.token, JSON.stringify(body), ['connection: close']))
}

/** The complete response; undefined if the connection closed before all of it had arrived. */
async function answerTo(connection: RawConnection): Promise<RawAnswer | undefined> {
  await connection.closed
  return connection.parsed().answers.at(0)
}

/** Walks all topics page by page. */
async function walk(server: Server): Promise<void> {
  const found: string[] = []
  for (let hasMore = true; hasMore; ) {
    const connection = await server.raw()
    await ask(server, connection, { selector: '*big//', size: 1000, after: found.at(-1) })
    const answer = await answerTo(connection)
    if (answer === undefined) throw new Error(`a page broke off after ${connection.received.length} bytes`)
    if (answer.status === 503) {
      await sleep(1000 * Number(/retry-after: (\d+)/.exec(answer.head)?.[1]))
      continue
    }
    const page = JSON.parse(answer.body) as FetchedPage
    if (page.results.some((topic) => topic.value !== value)) throw new Error('a value is not the one that was set')
    found.push(...page.results.map(({ path }) => path))
    hasMore = page.has_more
  }
  if (JSON.stringify(found) !== JSON.stringify(paths)) throw new Error(`${found.length} topics were found`)
}

/** Many readers walk at the same time, each to the end. */
async function walkAll(t: Test, server: Server): Promise<void> {
  let mebibytesMax = 0
  const pid = only(server.workerPids())
  const watch = setInterval(() => (mebibytesMax = Math.max(mebibytesMax, residentMiB(pid).own)), 20)
  const walks = await Promise.allSettled(Array.from({ length: readers }, () => walk(server)))
  clearInterval(watch)
  const faults = walks.flatMap((walk) => (walk.status === 'rejected' ? [String(walk.reason)] : []))
  t.same(faults, [], 'every reader gets all topics, and no response is cut off')
  t.ok(mebibytesMax < residentMiBMax, `memory stayed at ${mebibytesMax.toFixed()} MiB`)
}

/** Number of connections that were closed because their clients did not read. */
async function closedUnread(server: Server): Promise<number> {
  return (await scrape(server.adminUrl)).value('topicd_rejected_total', { cause: 'unread' })
}

/** Connections that have requested a response and read none of it. */
async function openStalled(server: Server, body: object): Promise<RawConnection[]> {
  const stalled = await Promise.all(Array.from({ length: readers }, () => server.raw()))
  const fetches = async (): Promise<number> =>
    (await scrape(server.adminUrl)).value('topicd_requests_total', { route: '/topics/fetch' })
  const before = await fetches()
  for (const connection of stalled) {
    connection.pause()
    await ask(server, connection, body)
  }
  await until('all responses are sent', async () => (await fetches()) === before + readers || undefined)
  return stalled
}

async function answersTo(stalled: readonly RawConnection[]): Promise<(RawAnswer | undefined)[]> {
  for (const connection of stalled) connection.resume()
  return Promise.all(stalled.map(answerTo))
}

t.test('readers of many pages get complete responses', async (t) => {
  const server = await startServer(t, { workers: 1 })
  for (const path of paths) await server.post('addAndSet', { path, value })

  await t.test('many readers that start together get complete pages', async (t) => {
    await walkAll(t, server)
    t.equal(await closedUnread(server), 0, 'no connection was closed')
  })

  await t.test('many readers get complete pages alongside as many clients that read nothing', async (t) => {
    const stalled = await openStalled(server, { selector: '*big//', size: 1000 })
    await walkAll(t, server)
    await until('some connections were closed', async () => (await closedUnread(server)) > 0 || undefined)
    const broken = (await answersTo(stalled)).filter((answer) => answer === undefined).length
    t.equal(broken, await closedUnread(server), 'only closed connections have broken responses')
  })
})

t.test('a fetch of a large value is rejected until there is room among the unread responses', async (t) => {
  const server = await startServer(t, { workers: 1, flags: ['--body-bytes-max', String(32 * mebibyte)] })
  await server.post('addAndSet', { path: 'small', value })
  await server.post('addAndSet', { path: 'huge', value: 'x'.repeat(24 * mebibyte) })
  const stalled = await openStalled(server, { path: 'huge' })
  t.equal((await server.post('fetch', { path: 'small' })).status, 200, 'a smaller value fits')
  await until('there is room', async () => (await server.post('fetch', { path: 'huge' })).status === 200 || undefined)
  t.ok((await closedUnread(server)) > 0, 'connections without progress were closed')
  const refused = (await answersTo(stalled)).filter((answer) => answer?.status === 503)
  t.ok(refused.length > 0, `${refused.length} were rejected`)
  for (const { head, body } of refused as RawAnswer[]) t.match(head + body, /retry-after: 1\r\n.*"overloaded"/s)
})
