/**
 * A key with a rate that floods one worker from several connections costs another key next to nothing: its requests are
 * all answered 200, and their median is compared with that of a run without the flood.
 */
import t from 'tap'
import { medianOf } from '../support/elements.js'
import type { Client } from '../support/service/client.js'
import { startServer } from '../support/service/server.js'

const measuredMs = 2500

const floodingConnections = 8

/** Between two requests of each flooding connection: without it, this process would be what is measured. */
const betweenMs = 2

/** A slow or busy machine may take this many times as long. */
const factorMax = 3

/** Medians below this are not compared: at such times it is the machine's own unrest that is measured. */
const medianMsMin = 1

t.test('a key that floods beyond its rate costs another key nothing that matters', async (t) => {
  const server = await startServer(t)
  await server.post('addAndSet', { path: 'a', value: 1 })
  const token = await server.addKey('flooding', { rate: 10 })
  const client = server.connect()

  async function measure(): Promise<{ readonly medianMs: number; readonly requests: number }> {
    const waitedMs: number[] = []
    for (const endMs = performance.now() + measuredMs; performance.now() < endMs; ) {
      const startMs = performance.now()
      const { status, text } = await client.post('fetch', { path: 'a' })
      if (status !== 200) t.fail(`the other key was answered ${status}: ${text}`)
      waitedMs.push(performance.now() - startMs)
    }
    return { medianMs: medianOf(waitedMs), requests: waitedMs.length }
  }

  const statuses = new Map<number, number>()
  let flooding = true
  async function flood(connection: Client): Promise<void> {
    while (flooding) {
      const { status } = await connection.post('fetch', { path: 'a' })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      await new Promise((resolve) => setTimeout(resolve, betweenMs))
    }
  }

  await measure()
  const alone = await measure()
  const floods = Array.from({ length: floodingConnections }, () => flood(server.connect(1, token)))
  const beside = await measure()
  flooding = false
  await Promise.all(floods)

  const results = `median ${alone.medianMs.toFixed(3)} ms alone (${alone.requests} requests), ${beside.medianMs.toFixed(3)} ms beside ${statuses.get(429)} refused and ${statuses.get(200)} allowed requests (${beside.requests} requests)`
  t.comment(results)
  t.strictSame([...statuses.keys()].sort(), [200, 429])
  t.ok((statuses.get(429) ?? 0) > 10 * (statuses.get(200) ?? 0), 'most of the flood was refused')
  t.ok(beside.medianMs < factorMax * Math.max(alone.medianMs, medianMsMin), results)
})
