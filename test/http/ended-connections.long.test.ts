/**
 * Connections that end with their answer leave nothing behind in a worker: the HTTP library loses 465 bytes for each
 * that is closed at the wrong moment.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { lastRequests } from '../support/last-requests.js'
import { only } from '../support/only.js'
import { residentMiB } from '../support/processes.js'
import { type Server, startServer } from '../support/server.js'
import { tied } from '../support/tied.js'

const warmUp = 10_000
const measured = 20_000

/** They would lose 9 MiB. */
const growthMiBMax = 4

/** Else garbage that is not collected yet would hide what is lost. */
const env = { NODE_OPTIONS: '--max-old-space-size=48 --max-semi-space-size=1' }

const program = fileURLToPath(new URL('../support/short-connections.js', import.meta.url))

t.setTimeout(600_000)

async function send({ url }: Server, request: string, count: number): Promise<void> {
  const child = spawn(...tied(process.execPath, [program, new URL(url).port, String(count)]), {
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  child.stdin.end(request)
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`the client ended with ${code}`)
}

await t.test('connections that end with their answer leave nothing behind', async (t) => {
  const server = await startServer(t, { workers: 1, env, flags: ['--cors-origins', '*'] })
  for (const [name, { text }] of Object.entries(lastRequests(server.token))) {
    await send(server, text, warmUp)
    const before = residentMiB(only(server.workerPids())).own
    await send(server, text, measured)
    const grown = residentMiB(only(server.workerPids())).own - before
    t.ok(grown < growthMiBMax, `${name}: ${measured} of them take ${grown.toFixed(1)} MiB`)
  }
})
