/**
 * A crowd: connections that each send a request in every interval, staggered. A request is due even if the last response is missing (an
 * open loop), so requests that queue behind a stalled server count. Every response is checked.
 */
import { connect, type Socket } from 'node:net'
import type { Exchange, Running } from '../servers/server.js'
import { shownMax } from './driver.js'

/** Connections being opened at the same time. */
const openingMax = 100

export interface Crowd {
  /** The first problem: a wrong response or a lost connection. */
  problem(): string | undefined
  /** The time from a request's due time to its response, in the order of the responses. */
  readonly latenciesMs: readonly number[]
  close(): void
}

/** Opens `count` connections, each of which then performs `exchange` every `intervalMs`. */
export async function openCrowd(
  { port, headers }: Running,
  exchange: Exchange,
  count: number,
  intervalMs: number,
): Promise<Crowd> {
  const sockets: Socket[] = []
  const timers: NodeJS.Timeout[] = []
  const latenciesMs: number[] = []
  let problem: string | undefined
  let isClosing = false
  const request = requestText(port, headers, exchange)
  const openOne = async (index: number): Promise<void> => {
    const socket = await opened(port)
    sockets.push(socket)
    let received = ''
    /** Due times of the requests without a response; only the first has been sent. */
    const dueMs: number[] = []
    const send = (): void => void socket.write(request)
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text
      if (!isComplete(received)) return
      const isRight =
        received.startsWith('HTTP/1.1 200 OK\r\n') &&
        exchange.expected.some((body) => received.endsWith(`\r\n\r\n${body}`))
      if (!isRight) problem ??= `wrong response: ${received.slice(0, shownMax)}`
      received = ''
      latenciesMs.push(performance.now() - (dueMs.shift() ?? Number.NaN))
      if (dueMs.length > 0) send()
    })
    socket.on('close', () => {
      if (!isClosing)
        problem ??= `a connection was lost${received === '' ? '' : ` after ${received.slice(0, shownMax)}`}`
    })
    const ask = (): void => {
      if (dueMs.push(performance.now()) === 1) send()
    }
    ask()
    const offsetMs = (index / count) * intervalMs
    timers.push(setTimeout(() => timers.push(setInterval(ask, intervalMs)), offsetMs))
  }
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) await openOne(next++)
  }
  await Promise.all(Array.from({ length: Math.min(openingMax, count) }, lane))
  return {
    problem: () => problem,
    latenciesMs,
    close() {
      isClosing = true
      for (const timer of timers) clearTimeout(timer)
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Whether all bytes of a response have arrived. A response without a length is wrong anyway. Bodies here are ASCII. */
function isComplete(received: string): boolean {
  const headEnd = received.indexOf('\r\n\r\n')
  const [, length] = /^content-length: (\d+)\r$/im.exec(received.slice(0, headEnd + 2)) ?? []
  return headEnd >= 0 && received.length >= headEnd + 4 + Number(length ?? 0)
}

/** Connects to a server on 127.0.0.1. */
export function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.once('error', reject)
  })
}

/** The bytes of a request that a connection sends repeatedly. */
export function requestText(
  port: number,
  headers: Running['headers'],
  { method, path, body }: Omit<Exchange, 'expected'>,
): string {
  const length = method === 'GET' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const all = { host: `127.0.0.1:${port}`, ...headers, ...length }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
