/**
 * A client in its own process that sends one request repeatedly alongside any other load, so that a test can measure the effect on other
 * clients. As a program, `other-client.js URL TOKEN ROUTE BODY`, it prints one JSON line per second.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { medianOf, quantileOf } from '../elements.js'
import { Client } from '../service/client.js'
import type { Server } from '../service/server.js'
import { tied } from '../tied.js'

/** Pause between two requests, so that the client is not a load itself. */
const betweenMs = 2
const windowMs = 1000

/** The client's measurements of one second. */
interface Second {
  /** The time until each response. */
  readonly waitedMs: readonly number[]
  /** Responses other than a 200, and requests that failed twice. */
  readonly faults: readonly string[]
}

/** A summary of the responses over a period. */
interface Seen {
  readonly medianMs: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly faults: readonly string[]
}

export class OtherClient {
  #seconds: Second[] = []
  readonly #child: ChildProcess

  /** Starts the client, which stops when the test ends. */
  constructor(t: Test, { url }: Server, token: string, route: string, body: object) {
    const program = fileURLToPath(import.meta.url)
    this.#child = spawn(...tied(process.execPath, [program, url, token, route, JSON.stringify(body)]), {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(() => this.#child.kill())
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      this.#seconds.push(JSON.parse(line) as Second)
    })
  }

  /** A summary of all measurements since the last call, after at least `seconds` seconds. */
  async seen(seconds: number): Promise<Seen> {
    while (this.#seconds.length < seconds) {
      if (this.#child.exitCode !== null) throw new Error('the other client has exited')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const seen = this.#seconds
    this.#seconds = []
    const waitedMs = seen.flatMap(({ waitedMs }) => waitedMs)
    return {
      medianMs: medianOf(waitedMs),
      p99Ms: quantileOf(waitedMs, 0.99),
      maxMs: waitedMs.reduce((most, ms) => Math.max(most, ms), 0),
      faults: seen.flatMap(({ faults }) => faults),
    }
  }
}

async function sendForASecond(client: Client, route: string, body: string): Promise<Second> {
  const waitedMs: number[] = []
  const faults: string[] = []
  for (const endMs = performance.now() + windowMs; performance.now() < endMs; ) {
    const startMs = performance.now()
    try {
      // If a stopping worker closes the connection, repeat the request once.
      const { status, text } = await client.post(route, body).catch(() => client.post(route, body))
      if (status !== 200) faults.push(`${status} ${text}`)
    } catch (error) {
      faults.push(String(error))
    }
    waitedMs.push(Math.round((performance.now() - startMs) * 1000) / 1000)
    await new Promise((resolve) => setTimeout(resolve, betweenMs))
  }
  return { waitedMs, faults }
}

async function main([url = '', token = '', route = '', body = '']: readonly string[]): Promise<void> {
  const client = new Client(url, token, 1)
  for (;;) process.stdout.write(`${JSON.stringify(await sendForASecond(client, route, body))}\n`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv.slice(2))
