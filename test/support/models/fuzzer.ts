/**
 * Sends hostile requests, each on its own connection, and keeps the faults in the responses. As a program, `fuzzer.js URL TOKEN SEED
 * COUNT`, it prints a JSON line after each tenth of the requests, and then its result; in a test's own process this would take five times
 * as long.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Random, randomFrom } from '../random.js'
import { RawConnection, requestText } from '../service/raw.js'
import { tied } from '../tied.js'
import { turn } from '../turns.js'
import { Description } from './documented-answers.js'
import { type HostileRequest, HostileRequests } from './hostile-requests.js'

/** Number of concurrent connections. */
const atOnce = 50

/** Statistics of the requests, and the faults found. */
export interface Fuzzed {
  /** The number of requests of each form, and of responses with each status to intact requests, by route: `/topics/fetch chunked`. */
  readonly counts: Readonly<Record<string, number>>
  /** Number of requests that followed an intact one on the same connection and were understood. */
  readonly markers: number
  /** The first undocumented responses, with their requests. */
  readonly faults: readonly string[]
}

/** Time to wait for responses to a mutated request, which may be a part of a request, or several. */
const mutatedMs = 20

/** Time after which an intact request without a response counts as hung. */
const answerMsMax = 10_000

/** The body of the HTTP library's own responses, after which the connection closes. */
const libraryPage = /^<h1>.*<i>uWebSockets\/20 Server<\/i>$/s

/** Number of faults to keep, and characters shown of each fault's request and response. */
const faultsMax = 20
const shownMax = 2000

/** @returns undefined if it takes longer */
function within<Value>(timeMs: number, wanted: Promise<Value>): Promise<Value | undefined> {
  return Promise.race([wanted, delay(timeMs, undefined, { ref: false })])
}

async function isClosed(connection: RawConnection): Promise<boolean> {
  await within(answerMsMax, connection.closed)
  return connection.isClosed
}

class Fuzzer implements Fuzzed {
  readonly counts: Record<string, number> = {}
  readonly faults: string[] = []
  markers = 0
  readonly #open: () => Promise<RawConnection>
  readonly #token: string
  readonly #random: Random
  readonly #description: Description
  readonly #requests: HostileRequests

  /** @param token of a key with every permission that hostile requests need */
  constructor(open: () => Promise<RawConnection>, token: string, random: Random, description: Description) {
    this.#open = open
    this.#token = token
    this.#random = random
    this.#description = description
    this.#requests = new HostileRequests(random, token, description.examples)
  }

  async sendOne(): Promise<void> {
    const request = this.#requests.next()
    const { kind, isChunked, isMutated, sent, begin, rest } = request
    const forms = [sent, isChunked && 'chunked', isMutated && 'mutated', !isMutated && kind]
    for (const form of forms) if (form !== false) this.#count(request, form)
    const connection = await this.#open()
    await connection.write(begin)
    if (rest.length > 0) {
      await turn()
      await connection.write(rest)
    }
    const fault = await this.#answerFault(request, connection)
    connection.close()
    if (fault === undefined || this.faults.length === faultsMax) return
    const bytes = Buffer.concat([begin, rest]).toString('latin1').slice(0, shownMax)
    const what = `${isMutated ? 'mutated' : kind}, ${sent} after ${begin.length} bytes: ${JSON.stringify(bytes)}`
    this.faults.push(`${fault} to ${what}; received: ${JSON.stringify(connection.received.slice(0, shownMax))}`)
  }

  /** @returns the fault in the responses */
  async #answerFault(request: HostileRequest, connection: RawConnection): Promise<string | undefined> {
    if (request.sent === 'reset') {
      connection.abort()
      return undefined
    }
    const isWhole = !request.isMutated && request.sent !== 'lost'
    await within(isWhole ? answerMsMax : mutatedMs, connection.answer())
    // If part of the request is missing, the service waits for it until our half is closed.
    if (!isWhole) {
      connection.end()
      if (!(await isClosed(connection))) return 'a connection that stays open'
    }
    const { answers, rest } = connection.parsed()
    const isOfLibrary = libraryPage.test(rest) && answers.at(-1)?.head.includes('\r\ncontent-length:') === false
    if (rest !== '' && !isOfLibrary) return `a partial response: ${rest}`
    for (const answer of answers) {
      if (!request.isMutated) this.#count(request, answer.status)
      const fault = this.#description.fault(request, answer)
      if (fault !== undefined) return fault
    }
    if (!isWhole) return undefined
    const [answer] = answers
    if (answer === undefined || answers.length > 1) return `${answers.length} responses`
    if (!request.closes && !/\r\nconnection: close/.test(answer.head)) return this.#markerFault(connection)
    return (await isClosed(connection)) ? undefined : 'a connection that stays open'
  }

  /** Checks that the next request on the connection is read from its first byte, where the previous one really ended. */
  async #markerFault(connection: RawConnection): Promise<string | undefined> {
    const path = `a/marker/${this.#random.below(1_000_000)}`
    await connection.write(requestText('/topics/fetch', this.#token, JSON.stringify({ path })))
    await within(answerMsMax, connection.answers(2))
    const { answers, rest } = connection.parsed()
    const [, answer] = answers
    if (answer === undefined) return connection.isClosed ? 'a closed connection' : 'no response to the next request'
    const expected = `{"code":"no_such_topic","message":"There is no topic at the path \\"${path}\\"."}`
    if (answer.status !== 400 || answer.body !== expected || answers.length !== 2 || rest !== '')
      return `the next request returned ${answer.status} ${answer.body}${rest}`
    this.markers++
    return undefined
  }

  #count({ route }: HostileRequest, form: string | number): void {
    const name = `${route ?? 'other'} ${form}`
    this.counts[name] = (this.counts[name] ?? 0) + 1
  }
}

/**
 * Runs the fuzzer in a separate process that gets only idle CPU time: in production, another machine would send such requests.
 *
 * @param token of a key with every permission that hostile requests need
 * @param onTenth called after each tenth of the requests
 */
export async function fuzz(
  url: string,
  token: string,
  { seed }: Pick<Random, 'seed'>,
  requests: number,
  onTenth: () => void,
): Promise<Fuzzed> {
  const args = [fileURLToPath(import.meta.url), url, token, String(seed), String(requests)]
  const child = spawn(...tied(process.execPath, args), { stdio: ['ignore', 'pipe', 'inherit'] })
  let found: Fuzzed | undefined
  createInterface({ input: child.stdout }).on('line', (line) => {
    const printed = JSON.parse(line) as Fuzzed | { readonly tenth: number }
    if ('tenth' in printed) onTenth()
    else found = printed
  })
  await once(child, 'close')
  if (found === undefined) throw new Error(`the fuzzer exited with ${child.exitCode}`)
  return found
}

async function main([url = '', token = '', seed = '', count = '']: readonly string[]): Promise<void> {
  const { hostname, port } = new URL(url)
  setPriority(19)
  const open = (): Promise<RawConnection> => RawConnection.open(hostname, Number(port))
  const fuzzer = new Fuzzer(open, token, randomFrom(Number(seed)), await Description.of(url))
  const requests = Number(count)
  const print = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`)
  let begun = 0
  let done = 0
  const lane = async (): Promise<void> => {
    while (begun++ < requests) {
      await fuzzer.sendOne()
      const tenth = Math.floor((++done * 10) / requests)
      if (tenth > Math.floor(((done - 1) * 10) / requests)) print({ tenth })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  const { counts, markers, faults } = fuzzer
  print({ counts, markers, faults } satisfies Fuzzed)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv.slice(2))
