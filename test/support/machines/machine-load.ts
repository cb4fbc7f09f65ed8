/**
 * A program that puts a service under steady load during an upgrade: `node machine-load.js URL TOKEN` writes and fetches over several lanes
 * with topicd's own client. It prints "running" when each lane has received its first responses. When its standard input ends, each lane
 * does one last round; then the program prints the failures, as JSON.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../../dist/client/index.js'

const [, , url = '', key = ''] = process.argv

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

const running = Array.from({ length: lanes }, (_, number) => lane(number))
process.stdin.resume()
await once(process.stdin, 'end')
stopped = true
await Promise.all(running)
const report: LoadReport = { answered, failed: failed.slice(0, 20) }
process.stdout.write(`${JSON.stringify(report)}\n`)
