/**
 * A prober: a thread that sends a request over one connection every few milliseconds and measures the longest response time. The time
 * starts when a request is due, so waiting behind the previous request counts. The driver's own thread would add the time that it spends on
 * the events of thousands of streams.
 */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Running } from '../servers/server.js'

const everyMs = 2

/** A request whose responses must all be 200. */
interface Probe {
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
  readonly path: string
  readonly body: string
}

export interface Prober {
  /** Stops the prober. @returns the time of the slowest request, in ms; @throws Error if one failed */
  stop(): Promise<number>
}

/** Starts a prober; resolves after its first response. */
export async function startProber({ port, headers }: Running, path: string, body: string): Promise<Prober> {
  const probe: Probe = { port, headers, path, body }
  const worker = new Worker(new URL(import.meta.url), { workerData: probe })
  await once(worker, 'message')
  return {
    async stop() {
      worker.postMessage('stop')
      const [longestMs] = (await once(worker, 'message')) as [number]
      return longestMs
    },
  }
}

async function run({ port, headers, path, body }: Probe): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const once = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const outgoing = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent }, (incoming) => {
        if (incoming.statusCode !== 200) reject(new Error(`${path} returned ${incoming.statusCode}`))
        incoming.resume().on('end', resolve)
      })
      outgoing.on('error', reject).end(body)
    })
  let isOver = false
  await once()
  parentPort?.once('message', () => (isOver = true)).postMessage('ready')
  let longestMs = 0
  for (let dueMs = performance.now(); !isOver; dueMs += everyMs) {
    await sleep(Math.max(0, dueMs - performance.now()))
    await once()
    longestMs = Math.max(longestMs, performance.now() - dueMs)
  }
  agent.destroy()
  return longestMs
}

if (!isMainThread) parentPort?.postMessage(await run(workerData as Probe))
