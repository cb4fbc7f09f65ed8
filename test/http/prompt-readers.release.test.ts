/**
 * Readers that take their pages as they come get whole answers: when many begin at once, and their pages together exceed
 * what a worker keeps for its clients, and beside clients that read nothing. Only those are closed. Where a value does
 * not fit at the moment, its fetch is refused, and a later one succeeds.
 *
 * The library closes connections 10 s after the kernel has taken an answer, even if its client is still reading it, so a
 * connection may end before the first byte of an answer. Then the request is sent again on another one.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { first } from '../support/elements.js'
import type { FetchedPage } from '../support/service/client.js'
import { scrape } from '../support/service/metrics.js'
import { requestText } from '../support/service/raw.js'
import { type Server, startServer, until } from '../support/service/server.js'

const mebibyte = 1024 * 1024
/** Their pages of 8 MiB are half as much again as what a worker keeps for its clients. */
const readers = 24

/** As in `http/overload`: what one worker may occupy, whatever its clients do. */
const residentBytesMax = 450 * mebibyte

const value = 'x'.repeat(100_000)
const paths = Array.from({ length: 240 }, (_, i) => `big/${1000 + i}`)

interface ReadAnswer {
  readonly status: number
  readonly retryMs: number
  readonly body: string
}

/** A connection whose answers are read one by one. */
class Reader {
  readonly socket: Socket
  /** What has arrived of the next answer. */
  bytes = 0
  #pieces: Buffer[] = []
  #ended = false
  #onChange = (): void => {}

  /** @param pauseMs how long it waits after each piece before it reads the next */
  static async open(server: Server, pauseMs: number): Promise<Reader> {
    const socket = connect({ host: '127.0.0.1', port: server.port })
    const reader = new Reader(socket, pauseMs)
    await once(socket, 'connect')
    return reader
  }

  private constructor(socket: Socket, pauseMs: number) {
    this.socket = socket
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#ended = true
      this.#onChange()
    })
    socket.on('data', (piece: Buffer) => {
      this.#pieces.push(piece)
      this.bytes += piece.length
      if (pauseMs > 0) {
        socket.pause()
        setTimeout(() => socket.resume(), pauseMs)
      }
      this.#onChange()
    })
  }

  ask(server: Server, body: object): void {
    this.socket.write(requestText('/topics/fetch', server.token, JSON.stringify(body)))
  }

  /** The next answer; undefined if the connection ends before all of it has arrived. */
  async answer(): Promise<ReadAnswer | undefined> {
    for (let head: string | undefined, wanted = Infinity; ; ) {
      if (head === undefined && this.bytes > 0) {
        head = first(this.#pieces)
          .toString('latin1')
          .replace(/(?<=\r\n\r\n).*/s, '')
          .toLowerCase()
        wanted = head.length + Number(/content-length: (\d+)/.exec(head)?.[1])
      }
      if (head !== undefined && this.bytes >= wanted) {
        const body = Buffer.concat(this.#pieces).toString('utf8', head.length)
        this.#pieces = []
        this.bytes = 0
        return { status: Number(head.slice(9, 12)), retryMs: 1000 * Number(/retry-after: (\d+)/.exec(head)?.[1]), body }
      }
      if (this.#ended) return undefined
      await new Promise<void>((resolve) => (this.#onChange = resolve))
    }
  }
}

/** What happened while one reader walked all topics. */
interface Walk {
  pages: number
  refused: number
  reconnected: number
}

/** Walks all topics page by page. */
async function walk(server: Server, pauseMs: number): Promise<Walk> {
  const walked = { pages: 0, refused: 0, reconnected: 0 }
  const found: string[] = []
  let reader = await Reader.open(server, pauseMs)
  for (let hasMore = true; hasMore; ) {
    reader.ask(server, { selector: '*big//', size: 1000, after: found.at(-1) })
    const answer = await reader.answer()
    if (answer === undefined) {
      if (reader.bytes > 0) throw new Error(`page ${walked.pages + 1} broke off after ${reader.bytes} bytes`)
      walked.reconnected++
      reader = await Reader.open(server, pauseMs)
    } else if (answer.status === 503) {
      walked.refused++
      await new Promise((resolve) => setTimeout(resolve, answer.retryMs))
    } else {
      const page = JSON.parse(answer.body) as FetchedPage
      if (page.results.some((topic) => topic.value !== value)) throw new Error('a value is not the one that was set')
      found.push(...page.results.map(({ path }) => path))
      hasMore = page.has_more
      walked.pages++
    }
  }
  reader.socket.destroy()
  if (JSON.stringify(found) !== JSON.stringify(paths)) throw new Error(`${found.length} topics were found`)
  return walked
}

/** Many readers walk at once, each to its end. */
async function walkAll(t: Test, server: Server, pauseMs: number): Promise<void> {
  let bytesMax = 0
  const watch = setInterval(() => (bytesMax = Math.max(bytesMax, residentBytes(server))), 20)
  const walks = await Promise.allSettled(Array.from({ length: readers }, () => walk(server, pauseMs)))
  clearInterval(watch)
  const faults = walks.flatMap((walk) => (walk.status === 'rejected' ? [String(walk.reason)] : []))
  t.same(faults, [], 'every reader has all topics, and no answer was broken')
  const done = walks.flatMap((walk) => (walk.status === 'fulfilled' ? [walk.value] : []))
  const sum = (count: keyof Walk): number => done.reduce((total, walked) => total + walked[count], 0)
  t.comment(`${sum('pages')} pages, ${sum('refused')} refused, ${sum('reconnected')} reconnected`)
  t.ok(bytesMax < residentBytesMax, `memory stayed at ${(bytesMax / mebibyte).toFixed()} MiB`)
}

/** Resident pages of the worker, without those of the mapped store. */
function residentBytes(server: Server): number {
  const [, resident, shared] = readFileSync(`/proc/${first(server.workerPids())}/statm`, 'latin1').split(' ')
  return (Number(resident) - Number(shared)) * 4096
}

/** Connections that were closed because their clients did not read. */
async function closedUnread(server: Server): Promise<number> {
  return (await scrape(server.adminUrl)).value('topicd_rejected_total', { cause: 'unread' })
}

/** Connections that have asked for an answer, and read nothing of it. */
async function openStalled(server: Server, count: number, body: object): Promise<Reader[]> {
  const stalled = await Promise.all(Array.from({ length: count }, () => Reader.open(server, 0)))
  const fetches = async (): Promise<number> =>
    (await scrape(server.adminUrl)).value('topicd_requests_total', { route: '/topics/fetch' })
  const before = await fetches()
  for (const reader of stalled) {
    reader.socket.pause()
    reader.ask(server, body)
  }
  await until('all are answered', async () => (await fetches()) === before + count || undefined)
  return stalled
}

t.test('readers of pages', async (t) => {
  const server = await startServer(t, { workers: 1 })
  for (const path of paths) await server.post('addAndSet', { path, value })

  await t.test('many begin at once', async (t) => {
    await walkAll(t, server, 0)
    t.equal(await closedUnread(server), 0, 'none was closed')
  })

  await t.test('many begin at once, and pause after each piece', async (t) => {
    await walkAll(t, server, 1)
    t.equal(await closedUnread(server), 0, 'none was closed')
  })

  await t.test('many begin beside as many that read nothing', async (t) => {
    const stalled = await openStalled(server, readers, { selector: '*big//', size: 1000 })
    await walkAll(t, server, 0)
    await until('some were closed', async () => (await closedUnread(server)) > 0 || undefined)
    for (const { socket } of stalled) socket.resume()
    const answers = await Promise.all(stalled.map((reader) => reader.answer()))
    const broken = answers.filter((answer) => answer === undefined).length
    t.equal(broken, await closedUnread(server), 'they are the ones that were closed')
    for (const { socket } of stalled) socket.destroy()
  })
})

t.test('a value that does not fit is refused until there is room', async (t) => {
  const server = await startServer(t, { workers: 1, flags: ['--body-bytes-max', String(32 * mebibyte)] })
  await server.post('addAndSet', { path: 'small', value })
  await server.post('addAndSet', { path: 'huge', value: 'x'.repeat(24 * mebibyte) })
  const stalled = await openStalled(server, readers, { path: 'huge' })
  t.equal((await server.post('fetch', { path: 'small' })).status, 200, 'a smaller one is answered')
  await until('it is answered', async () => (await server.post('fetch', { path: 'huge' })).status === 200 || undefined)
  t.ok((await closedUnread(server)) > 0, 'once those who read nothing are closed')
  for (const { socket } of stalled) socket.resume()
  const refused = (await Promise.all(stalled.map((reader) => reader.answer()))).filter(
    (answer) => answer?.status === 503,
  )
  t.ok(refused.length > 0, `${refused.length} were refused`)
  t.ok(
    refused.every((answer) => answer?.retryMs === 1000 && answer.body.includes('"overloaded"')),
    'and told when to ask again',
  )
  for (const { socket } of stalled) socket.destroy()
})
