/**
 * Readers that take their pages as they come get whole answers: when many begin at once, and their pages together exceed
 * what a worker keeps for its clients, and beside clients that read nothing. Only those are closed. Where a value does
 * not fit at the moment, its fetch is refused, and a later one succeeds.
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
/** Their pages of 8 MiB are half as much again as what a worker keeps for its clients. */
const readers = 24

/** As in `http/overload`: what one worker may occupy, whatever its clients do. */
const residentMiBMax = 450

const value = 'x'.repeat(100_000)
const paths = Array.from({ length: 240 }, (_, i) => `big/${1000 + i}`)

/** Asks for one answer, which ends the connection. */
async function ask(server: Server, connection: RawConnection, body: object): Promise<void> {
  await connection.write(requestText('/topics/fetch', server.token, JSON.stringify(body), ['connection: close']))
}

/** The whole answer; undefined if the connection has ended without all of it. */
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

/** Many readers walk at once, each to its end. */
async function walkAll(t: Test, server: Server): Promise<void> {
  let mebibytesMax = 0
  const pid = only(server.workerPids())
  const watch = setInterval(() => (mebibytesMax = Math.max(mebibytesMax, residentMiB(pid).own)), 20)
  const walks = await Promise.allSettled(Array.from({ length: readers }, () => walk(server)))
  clearInterval(watch)
  const faults = walks.flatMap((walk) => (walk.status === 'rejected' ? [String(walk.reason)] : []))
  t.same(faults, [], 'every reader has all topics, and no answer was broken')
  t.ok(mebibytesMax < residentMiBMax, `memory stayed at ${mebibytesMax.toFixed()} MiB`)
}

/** Connections that were closed because their clients did not read. */
async function closedUnread(server: Server): Promise<number> {
  return (await scrape(server.adminUrl)).value('topicd_rejected_total', { cause: 'unread' })
}

/** Connections that have asked for an answer, and read nothing of it. */
async function openStalled(server: Server, body: object): Promise<RawConnection[]> {
  const stalled = await Promise.all(Array.from({ length: readers }, () => server.raw()))
  const fetches = async (): Promise<number> =>
    (await scrape(server.adminUrl)).value('topicd_requests_total', { route: '/topics/fetch' })
  const before = await fetches()
  for (const connection of stalled) {
    connection.pause()
    await ask(server, connection, body)
  }
  await until('all are answered', async () => (await fetches()) === before + readers || undefined)
  return stalled
}

async function answersTo(stalled: readonly RawConnection[]): Promise<(RawAnswer | undefined)[]> {
  for (const connection of stalled) connection.resume()
  return Promise.all(stalled.map(answerTo))
}

t.test('readers of many pages get whole answers', async (t) => {
  const server = await startServer(t, { workers: 1 })
  for (const path of paths) await server.post('addAndSet', { path, value })

  await t.test('many readers that start at once get whole pages', async (t) => {
    await walkAll(t, server)
    t.equal(await closedUnread(server), 0, 'none was closed')
  })

  await t.test('many readers get whole pages beside as many that read nothing', async (t) => {
    const stalled = await openStalled(server, { selector: '*big//', size: 1000 })
    await walkAll(t, server)
    await until('some were closed', async () => (await closedUnread(server)) > 0 || undefined)
    const broken = (await answersTo(stalled)).filter((answer) => answer === undefined).length
    t.equal(broken, await closedUnread(server), 'they are the ones that were closed')
  })
})

t.test('a value that does not fit is refused until there is room', async (t) => {
  const server = await startServer(t, { workers: 1, flags: ['--body-bytes-max', String(32 * mebibyte)] })
  await server.post('addAndSet', { path: 'small', value })
  await server.post('addAndSet', { path: 'huge', value: 'x'.repeat(24 * mebibyte) })
  const stalled = await openStalled(server, { path: 'huge' })
  t.equal((await server.post('fetch', { path: 'small' })).status, 200, 'a smaller one is answered')
  await until('it is answered', async () => (await server.post('fetch', { path: 'huge' })).status === 200 || undefined)
  t.ok((await closedUnread(server)) > 0, 'once those who read nothing are closed')
  const refused = (await answersTo(stalled)).filter((answer) => answer?.status === 503)
  t.ok(refused.length > 0, `${refused.length} were refused`)
  for (const { head, body } of refused as RawAnswer[]) t.match(head + body, /retry-after: 1\r\n.*"overloaded"/s)
})
