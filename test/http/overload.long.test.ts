/**
 * What a worker keeps for its clients is bounded, and nobody waits for those who misbehave: thousands of idle connections,
 * uploads of a byte a second, answers that nobody reads, more writes than the disk can take, more connections than there are
 * descriptors. Memory is the workers' resident pages, from /proc.
 */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { refuses } from '../support/claims.js'
import type { FetchedPage } from '../support/client.js'
import { first } from '../support/only.js'
import { processorMs } from '../support/processes.js'
import { requestText } from '../support/raw.js'
import { type Server, startServer, until } from '../support/server.js'
import { Strace, whyNoStrace } from '../support/strace.js'

const mebibyte = 1024 * 1024

/** What one worker may come to, whatever its clients do: the sum of the bounds, the code and the heap. */
const residentBytesMax = 450 * mebibyte

/** Resident pages of the largest worker, without those of the mapped store, which are the system's to take back. */
function residentBytes(server: Server): number {
  return Math.max(
    ...server.workerPids().map((pid) => {
      const [, resident, shared] = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')
      return (Number(resident) - Number(shared)) * 4096
    }),
  )
}

/** Hundredths of a second that the first worker has computed. */
function cpuTicks(server: Server): number {
  return processorMs(first(server.workerPids())) / 10
}

async function open(server: Server): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: server.port })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Does `work` while another client asks for something small all the time; answers how long that one waited at most. */
async function besideOthers(
  server: Server,
  work: () => Promise<void>,
): Promise<{ slowestMs: number; bytesMax: number }> {
  const client = server.connect()
  let slowestMs = 0
  let bytesMax = 0
  let working = true
  const asking = (async () => {
    while (working) {
      const startMs = performance.now()
      const { status, text } = await client.post('fetch', { path: 'small' })
      if (status !== 200) throw new Error(`another client was answered ${status} ${text}`)
      slowestMs = Math.max(slowestMs, performance.now() - startMs)
      bytesMax = Math.max(bytesMax, residentBytes(server))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })()
  try {
    await work()
  } finally {
    working = false
    await asking
  }
  return { slowestMs, bytesMax }
}

function holds(t: Test, { slowestMs, bytesMax }: { slowestMs: number; bytesMax: number }): void {
  t.ok(slowestMs < 10_000, `others were served, after ${slowestMs.toFixed(0)} ms at most`)
  t.ok(bytesMax < residentBytesMax, `memory stayed at ${(bytesMax / mebibyte).toFixed(0)} MiB`)
}

t.test('ten thousand idle connections', async (t) => {
  const server = await startServer(t, { workers: 2 })
  await server.post('addAndSet', { path: 'small', value: 1 })
  const idle: Socket[] = []
  const figures = await besideOthers(server, async () => {
    while (idle.length < 10_000) idle.push(...(await Promise.all(Array.from({ length: 500 }, () => open(server)))))
  })
  holds(t, figures)
  t.ok(idle.filter(({ destroyed }) => !destroyed).length > 9000, 'they are there')
  for (const socket of idle) socket.destroy()
})

t.test('a thousand uploads that hardly move', async (t) => {
  const server = await startServer(t, { workers: 1 })
  await server.post('addAndSet', { path: 'small', value: 1 })
  const body = JSON.stringify({ path: 'slow', value: 'x'.repeat(900_000) })
  const text = requestText('/topics/addAndSet', server.token, body)
  const sockets = await Promise.all(Array.from({ length: 1000 }, () => open(server)))
  let closed = 0
  for (const socket of sockets) socket.once('close', () => closed++).resume()
  const figures = await besideOthers(server, async () => {
    for (const socket of sockets) socket.write(text.slice(0, 300))
    for (let at = 300; at < 304; at++) {
      await new Promise((resolve) => setTimeout(resolve, 250))
      for (const socket of sockets) socket.write(text.charAt(at))
    }
    const upload = await server.connect().post('addAndSet', { path: 'whole', value: 'x'.repeat(900_000) })
    t.equal(upload.status, 200, 'an upload that does move is taken')
    await until('they are cut off', async () => closed === sockets.length || undefined)
  })
  holds(t, figures)
})

t.test('answers that nobody reads', async (t) => {
  const server = await startServer(t, { workers: 1 })
  await server.post('addAndSet', { path: 'small', value: 1 })
  await server.post('addAndSet', { path: 'smallish', value: 'x'.repeat(1900) })
  await server.post('addAndSet', { path: 'middling', value: 'x'.repeat(15_000) })
  for (let i = 0; i < 10; i++) await server.post('addAndSet', { path: `big/${i}`, value: 'x'.repeat(900_000) })

  await t.test('pages of 8 MiB', async (t) => {
    const request = requestText('/topics/fetch', server.token, '{"selector":"*big//","size":10}')
    const sockets = await Promise.all(Array.from({ length: 100 }, () => open(server)))
    const figures = await besideOthers(server, async () => {
      for (const socket of sockets) socket.pause().write(request)
      await server.post('fetch', { path: 'small' })
    })
    holds(t, figures)
    for (const socket of sockets) socket.destroy()
  })

  for (const path of ['smallish', 'middling']) {
    await t.test(`answers of a ${path} topic, pipelined without end`, async (t) => {
      const requests = requestText('/topics/fetch', server.token, JSON.stringify({ path })).repeat(100)
      const sockets = await Promise.all(Array.from({ length: 16 }, () => open(server)))
      const figures = await besideOthers(server, async () => {
        for (const socket of sockets) socket.pause()
        // A paused socket learns of its end by what it cannot write.
        await until('they are cut off', async () => {
          const living = sockets.filter(({ destroyed }) => !destroyed)
          for (const socket of living) if (socket.writableLength < mebibyte) socket.write(requests)
          return living.length === 0 || undefined
        })
      })
      holds(t, figures)
    })
  }

  await t.test('one who reads late still gets a whole page', async () => {
    const socket = (await open(server)).pause()
    socket.write(requestText('/topics/fetch', server.token, '{"selector":"*big//","size":10}'))
    await server.post('fetch', { path: 'small' })
    let bytes = 0
    socket.on('data', (chunk: Buffer) => (bytes += chunk.length)).resume()
    await until('the page is there', async () => bytes > 8_000_000 || undefined)
    socket.destroy()
  })
})

t.test('three hundred scans for large pages at once', async (t) => {
  const server = await startServer(t, { workers: 1 })
  await server.post('addAndSet', { path: 'small', value: 1 })
  const value = 'x'.repeat(50_000)
  await Promise.all(
    Array.from({ length: 200 }, (_, i) => server.connect().post('addAndSet', { path: `scanned/${i}`, value })),
  )
  const figures = await besideOthers(server, async () => {
    const answers = await Promise.all(
      Array.from({ length: 300 }, async () => {
        const { status, text } = await server.connect().post('fetch', { selector: '?scanned/.*[0-9]', size: 200 })
        const { has_more, results } = JSON.parse(text) as FetchedPage
        return status === 200 && results.length > 0 && has_more === (results.at(-1)?.path !== 'scanned/99')
      }),
    )
    t.ok(answers.every(Boolean), 'each page has something, and says whether there is more')
  })
  holds(t, figures)
})

t.test('more writes than the disk can take', { skip: whyNoStrace() }, async (t) => {
  const server = await startServer(t, { workers: 1 })
  await server.post('addAndSet', { path: 'small', value: 1 })
  const pid = first(server.workerPids())
  const strace = await Strace.attach(t, pid, 'fdatasync:delay_enter=3s')
  const value = 'x'.repeat(900_000)
  const figures = await besideOthers(server, async () => {
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, i) => server.connect().post('addAndSet', { path: `many/${i}`, value })),
    )
    const refused = answers.filter(({ status }) => status !== 200)
    t.ok(refused.length > 0 && refused.length < 150, `${refused.length} of 150 are turned away`)
    for (const answer of refused.slice(0, 3)) {
      refuses(t, answer, 503, 'overloaded', 'a write too many', 'later')
      t.equal(answer.headers['retry-after'], '1', 'it says when to come back')
    }
  })
  await strace.detach()
  holds(t, figures)

  await t.test('clients that leave their writes behind make no room for more', async (t) => {
    await Strace.attach(t, pid, 'fdatasync:delay_enter=3s')
    const text = requestText('/topics/addAndSet', server.token, JSON.stringify({ path: 'left', value }))
    const figures = await besideOthers(server, async () => {
      for (let i = 0; i < 300; i++) {
        const socket = await open(server)
        await new Promise((resolve) => socket.write(text, resolve))
        socket.destroy()
      }
    })
    holds(t, figures)
  })
})

t.test('more connections than descriptors', async (t) => {
  const server = await startServer(t, { workers: 1, descriptorsMax: 600 })
  await server.post('addAndSet', { path: 'small', value: 1 })
  const kept = server.connect()
  await kept.post('fetch', { path: 'small' })
  const sockets = await Promise.all(Array.from({ length: 1500 }, () => open(server)))
  for (const socket of sockets) socket.resume()
  await until(
    'those too many are closed',
    async () => sockets.filter(({ destroyed }) => destroyed).length > 1000 || undefined,
  )
  t.match(await kept.post('fetch', { path: 'small' }), { status: 200 }, 'who was there before is served')
  const cpuBefore = cpuTicks(server)
  await new Promise((resolve) => setTimeout(resolve, 1000))
  t.ok(cpuTicks(server) - cpuBefore < 50, 'and the worker rests')
  for (const socket of sockets) socket.destroy()
  await until('there is room again', async () => {
    const { status } = await server
      .connect()
      .post('fetch', { path: 'small' })
      .catch(() => ({ status: 0 }))
    return status === 200 || undefined
  })
})
