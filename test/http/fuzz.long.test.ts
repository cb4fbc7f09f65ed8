/**
 * Hostile requests over bare connections, mutated from real ones: each is answered as documented or has its connection
 * closed, no worker dies, their memory stays flat, other topics are unchanged, and another client waits about as long
 * as before. FUZZ_REQUESTS=100000 sends more.
 */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { problemTable } from '../../dist/api/problems.js'
import { Bystander } from '../support/bystander.js'
import { reportFigures } from '../support/figures.js'
import { hostileRequest } from '../support/hostile-requests.js'
import { at } from '../support/only.js'
import type { Random } from '../support/random.js'
import { seededRandom } from '../support/random.js'
import type { RawAnswer } from '../support/raw.js'
import { type Server, startServer } from '../support/server.js'

const requests = Number(process.env.FUZZ_REQUESTS ?? 4000)
const atOnce = 20

/** Statuses without a body of ours: pages, preflights, and what the HTTP library sends by itself. */
const plain = new Set([200, 204, 304, 400, 404, 431, 505])

/** The bystander's median, alone and beside; it needs some seconds of each. */
const bystanderSeconds = 3

/** A slow or busy machine may take this many times as long; `npm run prove` shows the factor of a quiet one. */
const slowerMax = 4

/** Medians below this are not compared: at such times it is the machine's own unrest that is measured. */
const medianMsMin = 0.5

/** How much larger a worker may be at the end than after the first quarter. */
const growthMax = 1.3

t.setTimeout(120_000 + requests * 20)

/** What is not documented about an answer; undefined if nothing. */
function undocumented({ status, head, body }: RawAnswer): string | undefined {
  if (status < 400 || !/content-type: application\/json/.test(head))
    return plain.has(status) ? undefined : String(status)
  const { code } = JSON.parse(Buffer.from(body, 'latin1').toString()) as { code?: string }
  const known = Object.entries(problemTable).find(([name]) => name === code)
  if (known?.[1].status === status && status !== 500) return undefined
  return `${status} ${body}`
}

/** Sends one request on a connection of its own. @returns the status; 0 without an answer */
async function sendOne(t: Test, server: Server, random: Random): Promise<number> {
  const { begin, rest, isWhole } = hostileRequest(random, server.token)
  const connection = await server.raw()
  await connection.write(begin)
  if (rest.length > 0) {
    await new Promise((resolve) => setImmediate(resolve))
    await connection.write(rest)
  }
  // Where something is missing, the server waits for it until our half is closed.
  const answered = connection.answer()
  if (!isWhole) connection.end()
  const answer = await answered
  connection.close()
  const problem = answer === undefined ? isWhole && 'no answer' : undocumented(answer)
  if (problem) t.fail(`${problem} to ${JSON.stringify(Buffer.concat([begin, rest]).toString('latin1').slice(0, 2000))}`)
  return answer?.status ?? 0
}

/** The largest worker's resident memory, in MiB. */
function residentMiB(server: Server): number {
  const sizes = server
    .workerPids()
    .map((pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1024)
  return Math.max(...sizes)
}

/** @returns the memory after each quarter, in MiB */
async function fuzz(t: Test, server: Server, random: Random): Promise<readonly number[]> {
  const statuses = new Map<number, number>()
  const one = async (): Promise<void> => {
    const status = await sendOne(t, server, random)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  const memory: number[] = []
  for (let sent = 0; sent < requests; sent += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, one))
    if ((sent + atOnce) / requests >= (memory.length + 1) / 4) memory.push(residentMiB(server))
  }
  t.comment(JSON.stringify(Object.fromEntries([...statuses].sort(([a], [b]) => a - b))))
  t.ok((statuses.get(200) ?? 0) > requests / 50, 'some were valid')
  t.ok((statuses.get(400) ?? 0) > requests / 20, 'and many were refused')
  return memory
}

t.test('hostile requests end no worker, cost others little, and change only what their key allows', async (t) => {
  const random = seededRandom(t)
  const server = await startServer(t, { workers: 2 })
  // The topics that must not change have a key of their own, and the fuzzed requests' key cannot reach them.
  const keeper = await server.addKey('keeper', { under: ['kept'] })
  const post = (route: string, members: object) => server.client.post(route, members, { token: keeper })
  for (let i = 0; i < 10; i++) await post('addAndSet', { path: `kept/${i}`, value: i })
  const pids = server.workerPids()
  const all = server.token
  const fuzzed = await server.addKey('fuzzer', { under: ['fuzz', 'a', 'plant'] })
  const bystander = new Bystander(t, server, keeper, 'kept/1')
  // Its first second, in which code is compiled, does not count.
  await bystander.seen(1)
  const alone = await bystander.seen(bystanderSeconds)
  server.token = fuzzed
  const memory = await fuzz(t, server, random)
  server.token = all
  const beside = await bystander.seen(1)
  const slower = beside.medianMs / Math.max(alone.medianMs, medianMsMin)
  t.strictSame(server.workerPids(), pids, 'no worker died')
  t.strictSame([...alone.faults, ...beside.faults], [], 'the other client was answered each time')
  t.ok(slower < slowerMax, `its median was ${alone.medianMs} ms alone and ${beside.medianMs} ms beside`)
  // A short run ends while the workers still warm up.
  if (requests >= 50_000) t.ok(at(memory, -1) < growthMax * at(memory, 0), `MiB after each quarter: ${memory}`)
  for (let i = 0; i < 10; i++) {
    const { text } = await post('fetch', { path: `kept/${i}` })
    t.equal(text, `{"path":"kept/${i}","type":"json","value":${i}}`, 'other topics are unchanged')
  }
  reportFigures(t, {
    requests,
    firstMiBMax: Math.round(at(memory, 0)),
    lastMiBMax: Math.round(at(memory, -1)),
    aloneUsMax: Math.round(alone.medianMs * 1000),
    besideUsMax: Math.round(beside.medianMs * 1000),
    besideP99UsMax: Math.round(beside.p99Ms * 1000),
  })
})
