/**
 * Single requests, and a bounded number of concurrent ones, through node:http: for checks, loading and reading back. Never for timing.
 */
import { Agent, request } from 'node:http'
import type { Exchange } from '../servers/server.js'

/** Time after which a missing response is a failure. */
const answerMsMax = 60_000

interface Answer {
  readonly status: number
  readonly body: string
}

/** Sends one request to a server on 127.0.0.1; rejects if there is no response. */
export function send(
  port: number,
  headers: Readonly<Record<string, string>>,
  { method, path, body }: Omit<Exchange, 'expected'>,
  agent?: Agent,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = method === 'GET' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const options = { port, host: '127.0.0.1', method, path, agent, timeout: answerMsMax }
    const outgoing = request({ ...options, headers: { ...headers, ...length } }, (response) => {
      let answer = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => (answer += text))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: answer }))
      response.on('error', reject)
    })
    outgoing.on('error', reject)
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no response within ${answerMsMax} ms`)))
    outgoing.end(method === 'GET' ? undefined : body)
  })
}

/** Runs `task` for every item, at most `inFlightMax` at a time, over keep-alive connections. */
export async function forEachConcurrently<Item>(
  items: Iterable<Item>,
  inFlightMax: number,
  task: (item: Item, agent: Agent) => Promise<void>,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: inFlightMax })
  const iterator = items[Symbol.iterator]()
  const work = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) await task(next.value, agent)
  }
  try {
    await Promise.all(Array.from({ length: inFlightMax }, work))
  } finally {
    agent.destroy()
  }
}
