/**
 * Connections that close after their response leave nothing behind in a worker: the HTTP library leaks 465 bytes for each one
 * that is closed at the wrong time.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { only } from '../support/elements.js'
import { residentMiB } from '../support/machines/processes.js'
import { lastRequests } from '../support/service/last-requests.js'
import { type Server, startServer } from '../support/service/server.js'
import { tied } from '../support/tied.js'

/** Requests of all kinds together, then of each kind. */
const warmUp = 30_000
const warmUpEach = 2000
const measured = 10_000

/** A leak would lose 4.4 MiB. */
const growthMiBMax = 2

/** Otherwise uncollected garbage would hide a leak. */
const env = { NODE_OPTIONS: '--max-old-space-size=48 --max-semi-space-size=1' }

const program = fileURLToPath(new URL('../support/load/short-connections.js', import.meta.url))

t.setTimeout(600_000)

async function send({ url }: Server, request: string, count: number): Promise<void> {
  const child = spawn(...tied(process.execPath, [program, new URL(url).port, String(count)]), {
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  child.stdin.end(request)
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`the client exited with ${code}`)
}

await t.test('connections that close after their response use no memory afterwards', async (t) => {
  const server = await startServer(t, { workers: 1, env, flags: ['--cors-origins', '*'] })
  const kinds = Object.entries(lastRequests(server.token))
  for (const [, { text }] of kinds) await send(server, text, Math.round(warmUp / kinds.length))
  for (const [name, { text }] of kinds) {
    await send(server, text, warmUpEach)
    const before = residentMiB(only(server.workerPids())).own
    await send(server, text, measured)
    const grown = residentMiB(only(server.workerPids())).own - before
    t.ok(grown < growthMiBMax, `${name}: ${measured} connections take ${grown.toFixed(1)} MiB`)
  }
})
