/**
 * A program that puts a service under steady load during an upgrade: `node machine-load.js URL TOKEN reload` writes and fetches over
 * several lanes with topicd's own client, and `restart` instead of `reload` uses patient clients. It prints "running" once all have
 * received responses. When its standard input ends, it sends a few more requests; then it prints the failures, as JSON.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../../dist/client/index.js'
import { PatientClients } from '../load/patient-clients.js'

const [, , url = '', key = '', across = ''] = process.argv

/** Requests of patient clients before the first line, and after the end of the input. */
const patientRequests = 200

const lanes = 16

/** Pause of each lane after a write and a fetch: the load detects failures and leaves the machine's capacity to the upgrade. */
const pauseMs = 20

/** The result of the load. A request counts as failed only after the client's own retries. */
export interface LoadReport {
  readonly answered: number
  readonly failed: readonly string[]
}

let [answered, begun, stopped] = [0, 0, false]
const failed: string[] = []

async function lane(number: number): Promise<void> {
  let isLast = false
  const client = connect(url, { key, timeoutMs: 10_000 })
  const path = `load/${number}`
  for (let value = 0; !isLast; value++) {
    isLast = stopped
    try {
      await client.addAndSet(path, value)
      const item = await client.get(path)
      if (item?.value !== value) failed.push(`${path} has ${item?.value} after ${value} was acknowledged`)
      answered += 2
      await sleep(pauseMs)
    } catch (error) {
      const { message, cause } = error as Error & { readonly cause?: unknown }
      failed.push(`${message} ${cause instanceof Error ? cause.message : ''}`)
    }
    if (value === 0 && ++begun === lanes) process.stdout.write('running\n')
  }
}

async function inLanes(): Promise<void> {
  const running = Array.from({ length: lanes }, (_, number) => lane(number))
  await once(process.stdin.resume(), 'end')
  stopped = true
  await Promise.all(running)
}

async function patiently(): Promise<void> {
  const clients = new PatientClients(() => url, key)
  await clients.more(patientRequests)
  process.stdout.write('running\n')
  await once(process.stdin.resume(), 'end')
  await clients.more(patientRequests)
  await clients.stop()
  answered = clients.completed
  failed.push(...clients.failures)
}

await (across === 'restart' ? patiently() : inLanes())
const report: LoadReport = { answered, failed: failed.slice(0, 20) }
process.stdout.write(`${JSON.stringify(report)}\n`)
