/**
 * Uploads during kills. The death of the writer loses and repeats no line, and lines that a worker has reported as durable survive its
 * death.
 */
import t from 'tap'
import { startServer, until } from '../support/service/server.js'
import { UploadRequest } from '../support/service/upload.js'

/** Lines per write. */
const linesPerWrite = 2000

/** Operations whose sum shows if one is executed twice or not at all. */
const lines = '{"op":"increment","path":"sum","increment":1}\n'.repeat(linesPerWrite)

async function sumOf(server: Awaited<ReturnType<typeof startServer>>): Promise<number> {
  const { text } = await server.post('fetch', { path: 'sum' })
  return (JSON.parse(text) as { value: number }).value
}

t.test('no line of an upload is lost or repeated when the writer is killed', async (t) => {
  const server = await startServer(t, { workers: 1 })
  await server.post('addAndSet', { path: 'sum', value: 0 })
  const request = new UploadRequest(server)
  const kills = 4
  for (let i = 0; i < kills; i++) {
    const before = request.last?.durable ?? 0
    await request.write(lines)
    kill(await until('a writer runs', async () => server.writerPid()))
    await until('the upload continues', async () => ((request.last?.durable ?? 0) > before ? true : request.error))
  }
  t.strictSame((await request.end()).at(-1), { done: true, durable: kills * linesPerWrite, refused: 0 })
  t.equal(await sumOf(server), kills * linesPerWrite)
})

t.test('lines of an upload are durable if they were reported before a worker died', async (t) => {
  const server = await startServer(t, { workers: 2 })
  await server.post('addAndSet', { path: 'sum', value: 0 })
  let sumBefore = 0
  for (let i = 0; i < 2; i++) {
    const request = new UploadRequest(server)
    let sent = 0
    while (request.error === undefined && !request.isComplete) {
      await Promise.race([request.write(lines), until('the upload breaks', async () => request.error)])
      sent += linesPerWrite
      if (request.last?.durable !== undefined) for (const pid of server.workerPids()) kill(pid)
    }
    const { durable = 0, refused } = request.last ?? {}
    t.equal(refused, 0)
    const sum = await until('the sum is served again', async () => sumOf(server).catch(() => undefined))
    t.ok(sum >= sumBefore + durable && sum <= sumBefore + sent, `${durable} of ${sent}: ${sum - sumBefore}`)
    sumBefore = sum
  }
})

/** Kills a process, unless it has exited. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}
