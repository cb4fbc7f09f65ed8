/**
 * One request at a time, and many with a bound, through node:http: for checks, loading and reading back. Never for timing.
 */
import { Agent, request } from 'node:http'
import type { Exchange } from '../contenders/contender.js'

/** Longest that any single answer may take. */
const answerMsMax = 60_000

export interface Answer {
  readonly status: number
  readonly body: string
}

/** Puts one exchange to a server on 127.0.0.1; rejects when there is no answer. */
export function ask(
  port: number,
  headers: Readonly<Record<string, string>>,
  exchange: Omit<Exchange, 'answers'>,
  agent?: Agent,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = exchange.method === 'GET' ? {} : { 'content-length': String(Buffer.byteLength(exchange.body)) }
    const options = {
      port,
      host: '127.0.0.1',
      method: exchange.method,
      path: exchange.path,
      agent,
      timeout: answerMsMax,
    }
    const asked = request({ ...options, headers: { ...headers, ...length } }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => (body += text))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
      response.on('error', reject)
    })
    asked.on('error', reject)
    asked.on('timeout', () => asked.destroy(new Error(`no answer within ${answerMsMax} ms`)))
    asked.end(exchange.method === 'GET' ? undefined : exchange.body)
  })
}

/** Runs `task` for every thing, at most `outstandingMax` at a time, each over a kept connection. */
export async function forEachAsked<Thing>(
  things: Iterable<Thing>,
  outstandingMax: number,
  task: (thing: Thing, agent: Agent) => Promise<void>,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: outstandingMax })
  const iterator = things[Symbol.iterator]()
  const lane = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) await task(next.value, agent)
  }
  try {
    await Promise.all(Array.from({ length: outstandingMax }, lane))
  } finally {
    agent.destroy()
  }
}
