/**
 * A writer: one connection that performs the exchanges of a script, one after the other with a pause, checks
 * every answer, and remembers the longest that one took. When its connection is lost it opens another one and repeats
 * the request that was not answered. For light load beside an event; a driver measures bursts.
 */
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Exchange, Running } from '../servers/server.js'
import { opened, requestText } from './crowd.js'
import { answerSecondsMax, shownMax } from './driver.js'

/** Between an answer and the next request: the server is mostly idle, but a pause of its writes is soon noticed. */
const pauseMsDefault = 5

/** Between two attempts to connect. */
const retryMs = 5

export class Writer {
  readonly #running: Running
  readonly #exchanges: readonly Exchange[]
  readonly #pauseMs: number
  #socket: Socket | undefined
  #answers = 0
  #longestMs = 0
  #lostAtMs: number | undefined
  #reconnectedMs: number | undefined
  #problem: string | undefined
  #isStopping = false
  readonly #ended: Promise<void>

  /** @param pauseMs between an answer and the next request; 0 for none */
  constructor(running: Running, exchanges: readonly Exchange[], pauseMs = pauseMsDefault) {
    this.#pauseMs = pauseMs
    this.#running = running
    this.#exchanges = exchanges
    this.#ended = this.#run()
  }

  /** Answers so far, all of them correct unless there is a problem. */
  get answers(): number {
    return this.#answers
  }

  /** What went wrong, in words; a lost connection is none. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Whether its first connection was lost. */
  get wasLost(): boolean {
    return this.#lostAtMs !== undefined
  }

  /** From the loss of its first connection to the first answer over another one; undefined before that. */
  get reconnectedMs(): number | undefined {
    return this.#reconnectedMs
  }

  /** The longest that an answer took since the last call. */
  takeLongestMs(): number {
    const longestMs = this.#longestMs
    this.#longestMs = 0
    return longestMs
  }

  /** Resolves after the answer in flight. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#ended
  }

  async #run(): Promise<void> {
    const requests = this.#exchanges.map((exchange) => requestText(this.#running.port, this.#running.headers, exchange))
    while (!this.#isStopping && this.#problem === undefined) {
      const index = this.#answers % requests.length
      const startMs = performance.now()
      try {
        this.#socket ??= await open(this.#running.port)
        this.#check(await answerTo(this.#socket, requests[index] ?? ''), this.#exchanges[index]?.expected ?? [])
        this.#longestMs = Math.max(this.#longestMs, performance.now() - startMs)
        if (this.#pauseMs > 0) await sleep(this.#pauseMs)
      } catch {
        await this.#lost()
      }
    }
    this.#socket?.destroy()
  }

  #check(answer: string, expected: readonly string[]): void {
    const isRight =
      answer.startsWith('HTTP/1.1 200 OK\r\n') && expected.some((body) => answer.endsWith(`\r\n\r\n${body}`))
    if (!isRight) this.#problem ??= `wrong answer: ${answer.slice(0, shownMax)}`
    this.#answers++
    if (this.#lostAtMs !== undefined) this.#reconnectedMs ??= performance.now() - this.#lostAtMs
  }

  async #lost(): Promise<void> {
    this.#socket?.destroy()
    this.#socket = undefined
    this.#lostAtMs ??= performance.now()
    if (performance.now() - this.#lostAtMs > answerSecondsMax * 1000 && this.#reconnectedMs === undefined)
      this.#problem ??= `no answer within ${answerSecondsMax} s after a connection was lost`
    await sleep(retryMs)
  }
}

/** A connection whose loss between two requests is noticed by the next one. */
async function open(port: number): Promise<Socket> {
  const socket = await opened(port)
  socket.setNoDelay().setEncoding('utf8').on('error', ignore)
  return socket
}

/** Sends a request; resolves with the whole answer or a note that none came, and rejects when the connection is lost. */
function answerTo(socket: Socket, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = ''
    const end = (settle: () => void): void => {
      socket.off('data', onData).off('close', onLost).off('timeout', onTimeout).setTimeout(0)
      settle()
    }
    const onData = (text: string): void => {
      received += text
      if (isComplete(received)) end(() => resolve(received))
    }
    const onLost = (): void => end(() => reject(new Error('the connection was lost')))
    const onTimeout = (): void => end(() => resolve(`none within ${answerSecondsMax} s`))
    if (socket.destroyed) return onLost()
    socket
      .on('data', onData)
      .on('close', onLost)
      .on('timeout', onTimeout)
      .setTimeout(answerSecondsMax * 1000)
    socket.write(request)
  })
}

/** Whether all bytes of an answer have arrived; one without a length is not a right one. Bodies here are ASCII. */
function isComplete(received: string): boolean {
  const headEnd = received.indexOf('\r\n\r\n')
  const [, length] = /^content-length: (\d+)\r$/im.exec(received.slice(0, headEnd + 2)) ?? []
  return headEnd >= 0 && (length === undefined || received.length >= headEnd + 4 + Number(length))
}

/** The loss itself is the event `close`. */
function ignore(): void {}
