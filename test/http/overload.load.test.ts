/**
 * A worker's buffers for its clients are bounded, and other clients are served alongside thousands of idle connections, stalled
 * uploads, unread responses, more writes than the disk can take, and more connections than there are descriptors. Memory is the
 * workers' resident pages, from /proc.
 */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { bodyBytesWaitingMax } from '../../dist/http/body.js'
import { first } from '../support/elements.js'
import { refuses } from '../support/expected-answers.js'
import { Strace, whyNoStrace } from '../support/faults/strace.js'
import { processorMs, residentMiB } from '../support/machines/processes.js'
import type { FetchedPage } from '../support/service/client.js'
import { scrape } from '../support/service/metrics.js'
import { requestText } from '../support/service/raw.js'
import { type Server, startServer, until } from '../support/service/server.js'

const mebibyte = 1024 * 1024

/** Too slow to commit all writes of a test in time, but fast enough to commit the accepted ones soon. */
const slowDisk = 'fdatasync:delay_enter=300ms'

/** Maximum memory of one worker under any load: the sum of the limits, the code and the heap. */
const residentBytesMax = 450 * mebibyte

/** Memory of the largest worker, without the mapped store, which the system can reclaim. */
function residentBytes(server: Server): number {
  return Math.max(...server.workerPids().map((pid) => residentMiB(pid).own)) * mebibyte
}

async function open(server: Server): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: server.port })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Runs `work` while another client repeats a small fetch. @returns that client's longest wait, and the peak memory */
async function besideOthers(
  server: Server,
  work: () => Promise<void>,
): Promise<{ slowestMs: number; bytesMax: number }> {
  const client = server.connect()
  let slowestMs = 0
  let bytesMax = 0
  let working = true
  const fetching = (async () => {
    while (working) {
      const startMs = performance.now()
      const { status, text } = await client.post('fetch', { path: 'small' })
      if (status !== 200) throw new Error(`another client got ${status} ${text}`)
      slowestMs = Math.max(slowestMs, performance.now() - startMs)
      bytesMax = Math.max(bytesMax, residentBytes(server))
      await sleep(20)
    }
  })()
  try {
    await work()
  } finally {
    working = false
    await fetching
  }
  return { slowestMs, bytesMax }
}

function assertBounds(t: Test, { slowestMs, bytesMax }: { slowestMs: number; bytesMax: number }): void {
  t.ok(slowestMs < 10_000, `other clients were served, after ${slowestMs.toFixed(0)} ms at most`)
  t.ok(bytesMax < residentBytesMax, `memory stayed at ${(bytesMax / mebibyte).toFixed(0)} MiB`)
}

t.test('other clients are served during every kind of overload, within the memory limit', async (t) => {
  const server = await startServer(t, { workers: 1 })
  await server.post('addAndSet', { path: 'small', value: 1 })

  await t.test('10,000 idle connections do not delay other clients', async (t) => {
    const idle: Socket[] = []
    const measured = await besideOthers(server, async () => {
      while (idle.length < 10_000) idle.push(...(await Promise.all(Array.from({ length: 500 }, () => open(server)))))
    })
    assertBounds(t, measured)
    t.ok(idle.filter(({ destroyed }) => !destroyed).length > 9000, 'the connections are open')
    for (const socket of idle) socket.destroy()
  })

  await t.test('1,000 stalled uploads do not delay other clients and are cut off', async (t) => {
    const body = JSON.stringify({ path: 'slow', value: 'x'.repeat(900_000) })
    const text = requestText('/topics/addAndSet', server.token, body)
    const sockets = await Promise.all(Array.from({ length: 1000 }, () => open(server)))
    let closed = 0
    for (const socket of sockets) socket.once('close', () => closed++).resume()
    const measured = await besideOthers(server, async () => {
      for (const socket of sockets) socket.write(text.slice(0, 300))
      for (let at = 300; at < 304; at++) {
        await sleep(250)
        for (const socket of sockets) socket.write(text.charAt(at))
      }
      const upload = await server.connect().post('addAndSet', { path: 'whole', value: 'x'.repeat(900_000) })
      t.equal(upload.status, 200, 'an upload that makes progress is accepted')
      await until('the uploads are cut off', async () => closed === sockets.length || undefined)
    })
    assertBounds(t, measured)
  })

  await t.test('unread responses do not delay other clients', async (t) => {
    await server.post('addAndSet', { path: 'smallish', value: 'x'.repeat(1900) })
    await server.post('addAndSet', { path: 'middling', value: 'x'.repeat(15_000) })
    for (let i = 0; i < 10; i++) await server.post('addAndSet', { path: `big/${i}`, value: 'x'.repeat(900_000) })

    await t.test('unread pages of 8 MiB stay within the memory limit and do not delay other clients', async (t) => {
      const request = requestText('/topics/fetch', server.token, '{"selector":"*big//","size":10}')
      const sockets = await Promise.all(Array.from({ length: 60 }, () => open(server)))
      const measured = await besideOthers(server, async () => {
        for (const socket of sockets) socket.pause().write(request)
        await server.post('fetch', { path: 'small' })
      })
      assertBounds(t, measured)
      for (const socket of sockets) socket.destroy()
    })

    for (const path of ['smallish', 'middling']) {
      await t.test(`unread pipelined responses of a ${path} topic are cut off`, async (t) => {
        const requests = requestText('/topics/fetch', server.token, JSON.stringify({ path })).repeat(100)
        const sockets = await Promise.all(Array.from({ length: 16 }, () => open(server)))
        const measured = await besideOthers(server, async () => {
          for (const socket of sockets) socket.pause()
          // A paused socket notices only by a failed write that it has been closed.
          await until('the connections are closed', async () => {
            const living = sockets.filter(({ destroyed }) => !destroyed)
            for (const socket of living) if (socket.writableLength < mebibyte) socket.write(requests)
            return living.length === 0 || undefined
          })
        })
        assertBounds(t, measured)
      })
    }

    await t.test('a client that reads late still gets a complete page', async () => {
      const socket = (await open(server)).pause()
      socket.write(requestText('/topics/fetch', server.token, '{"selector":"*big//","size":10}'))
      await server.post('fetch', { path: 'small' })
      let bytes = 0
      socket.on('data', (chunk: Buffer) => (bytes += chunk.length)).resume()
      await until('the page has arrived', async () => bytes > 8_000_000 || undefined)
      socket.destroy()
    })
  })

  await t.test('100 scans for large pages do not delay other clients', async (t) => {
    const value = 'x'.repeat(50_000)
    await Promise.all(
      Array.from({ length: 200 }, (_, i) => server.connect().post('addAndSet', { path: `scanned/${i}`, value })),
    )
    const measured = await besideOthers(server, async () => {
      const answers = await Promise.all(
        Array.from({ length: 100 }, async () => {
          const { status, text } = await server.connect().post('fetch', { selector: '?scanned/.*[0-9]', size: 200 })
          const { has_more, results } = JSON.parse(text) as FetchedPage
          return status === 200 && results.length > 0 && has_more === (results.at(-1)?.path !== 'scanned/99')
        }),
      )
      t.ok(answers.every(Boolean), 'each page has results and the right has_more')
    })
    assertBounds(t, measured)
  })
})

t.test('writes that arrive faster than the disk stores them are rejected', { skip: whyNoStrace() }, async (t) => {
  const server = await startServer(t, { workers: 1 })
  await server.post('addAndSet', { path: 'small', value: 1 })
  const pid = await until('a writer runs', async () => server.writerPid())
  const strace = await Strace.attach(t, pid, slowDisk)
  const value = 'x'.repeat(900_000)
  const measured = await besideOthers(server, async () => {
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, i) => server.connect().post('addAndSet', { path: `many/${i}`, value })),
    )
    const refused = answers.filter(({ status }) => status !== 200)
    t.ok(refused.length > 0 && refused.length < 150, `${refused.length} of 150 are rejected`)
    for (const answer of refused.slice(0, 3)) {
      refuses(t, answer, 503, 'overloaded', 'a write beyond the limit', 'later')
      t.equal(answer.headers['retry-after'], '1', 'the time to retry')
    }
  })
  await strace.detach()
  assertBounds(t, measured)

  await t.test('writes whose clients have disconnected still count towards the limit on waiting writes', async (t) => {
    await Strace.attach(t, pid, slowDisk)
    const text = requestText('/topics/addAndSet', server.token, JSON.stringify({ path: 'left', value }))
    let waitingMax = 0
    const measured = await besideOthers(server, async () => {
      for (let i = 0; i < 300; i++) {
        const socket = await open(server)
        await new Promise((resolve) => socket.write(text, resolve))
        socket.destroy()
        if (i % 20 > 0) continue
        const waiting = (await scrape(server.adminUrl)).value('topicd_requests_waiting')
        waitingMax = Math.max(waitingMax, waiting)
      }
    })
    assertBounds(t, measured)
    t.ok(waitingMax > 0 && waitingMax * value.length <= bodyBytesWaitingMax, `at most ${waitingMax} of 300 wait`)
  })
})

t.test('connections beyond the descriptor limit are closed, and earlier connections are served', async (t) => {
  const server = await startServer(t, { workers: 1, descriptorsMax: 600 })
  await server.post('addAndSet', { path: 'small', value: 1 })
  const kept = server.connect()
  await kept.post('fetch', { path: 'small' })
  const sockets = await Promise.all(Array.from({ length: 1500 }, () => open(server)))
  for (const socket of sockets) socket.resume()
  const destroyed = () => sockets.filter(({ destroyed }) => destroyed).length
  await until('the excess connections are closed', async () => destroyed() > 1000 || undefined)
  t.match(await kept.post('fetch', { path: 'small' }), { status: 200 }, 'an earlier client is served')
  // A spinning worker would take all of the time.
  const [cpuBeforeMs, beforeMs] = [processorMs(first(server.workerPids())), performance.now()]
  await sleep(1000)
  const busyMs = processorMs(first(server.workerPids())) - cpuBeforeMs
  t.ok(busyMs < (performance.now() - beforeMs) / 2, `the worker is idle: busy for ${busyMs} ms`)
  for (const socket of sockets) socket.destroy()
  await until('there is room again', () =>
    server
      .connect()
      .post('fetch', { path: 'small' })
      .then(
        ({ status }) => status === 200 || undefined,
        () => undefined,
      ),
  )
})
