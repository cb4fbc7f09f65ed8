/**
 * SIGHUP under steady load: workers are replaced, new settings take effect, and no request fails. The clients do what
 * docs/clients.md asks of them: they send a request once more if its kept-alive connection was closed.
 */

import { writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { send } from '../support/service/keep-alive.js'
import { startServer, until } from '../support/service/server.js'

const rounds = 3
const connections = 12

interface Outcome {
  sent: number
  retries: number
  readonly failed: string[]
}

/** Writes values and reads them back on one keep-alive connection, until `stopped`. */
async function load(
  url: string,
  token: string,
  client: number,
  outcome: Outcome,
  stopped: () => boolean,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  async function request(route: string, body: object): Promise<string> {
    outcome.sent++
    const attempt = () => send(agent, `${url}/topics/${route}`, token, body)
    const { status, text } = await attempt().catch((error: NodeJS.ErrnoException & { reused: boolean }) => {
      if (!error.reused) throw error
      outcome.retries++
      return attempt()
    })
    if (status !== 200) throw new Error(`${status} ${text}`)
    return text
  }
  for (let number = 0; !stopped(); number++) {
    try {
      await request('addAndSet', { path: `load/${client}`, value: number })
      const { value } = JSON.parse(await request('fetch', { path: `load/${client}` })) as { value: number }
      if (value !== number) outcome.failed.push(`${value} was read after ${number} was written`)
    } catch (error) {
      outcome.failed.push(String(error))
    }
  }
  agent.destroy()
}

const directory = t.testdir()
const settings = join(directory, 'topicd.env')
writeFileSync(settings, 'TOPICD_PAGE_SIZE_MAX=100\n')
const server = await startServer(t, { workers: 2, dataDir: join(directory, 'db'), flags: ['--settings', settings] })
const restarts = () => server.log.filter(({ msg }) => msg === 'rolling restart done').length

await t.test('no request fails while workers are replaced', async (t) => {
  const outcome: Outcome = { sent: 0, retries: 0, failed: [] }
  let stopped = false
  const { url, token } = server
  const loads = Array.from({ length: connections }, (_, client) => load(url, token, client, outcome, () => stopped))
  const first = server.workerPids()
  for (let round = 1; round <= rounds; round++) {
    writeFileSync(settings, `TOPICD_PAGE_SIZE_MAX=${100 + round}\n`)
    server.signal('SIGHUP')
    await until('the restart', async () => (restarts() === round ? true : undefined))
  }
  stopped = true
  await Promise.all(loads)
  t.comment(`${outcome.sent} requests, ${outcome.retries} of them retried`)
  t.strictSame(outcome.failed, [])
  t.ok(outcome.sent > 1000, 'there was load')
  t.notOk(
    server.workerPids().some((pid) => first.includes(pid)),
    'every worker is a new one',
  )
})

await t.test('every worker uses the current settings of the file', async (t) => {
  for (let i = 0; i < 2 * server.client.connections; i++) {
    t.match(await server.post('fetch', { selector: '*load//', size: 100 + rounds }), { status: 200 })
    t.match(await server.post('fetch', { selector: '*load//', size: 101 + rounds }), { code: 'invalid_parameter' })
  }
})

await t.test('a reload with a wrong setting changes nothing, and the reason is logged', async (t) => {
  const before = server.workerPids()
  writeFileSync(settings, 'TOPICD_PAGE_SIZE_MAX=none\n')
  server.signal('SIGHUP')
  const { reason } = await server.logged('rolling restart failed')
  t.equal(reason, `${settings} line 1: TOPICD_PAGE_SIZE_MAX is "none"; it must be a whole number from 1 to 100000`)
  t.strictSame(server.workerPids(), before, 'the same workers')
  t.match(await server.post('fetch', { selector: '*load//', size: 100 + rounds }), { status: 200 })
})
