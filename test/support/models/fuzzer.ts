/**
 * Sends hostile requests, each on a connection of its own, and keeps what was wrong with the answers. As a program,
 * `fuzzer.js URL TOKEN SEED COUNT`, it prints a JSON line after each tenth of them, and then what it found; a test's own
 * process would take five times as long.
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

/** How many connections it has. */
const atOnce = 50

/** What was sent and found. */
export interface Fuzzed {
  /** How many requests of each form, and answers of each status to intact ones, by route: `/topics/fetch chunked`. */
  readonly counts: Readonly<Record<string, number>>
  /** How many requests followed a sound one on its connection, and were understood. */
  readonly markers: number
  /** Answers that are not documented, with their requests; the first of them. */
  readonly faults: readonly string[]
}

/** A mutated request may be a part of one, or several: its answers are waited for so long. */
const mutatedMs = 20

/** A sound one is answered within this, or it hangs. */
const answerMsMax = 10_000

/** The HTTP library's own answers end with the connection, and have this body. */
const libraryPage = /^<h1>.*<i>uWebSockets\/20 Server<\/i>$/s

/** How many faults are kept; each shows so much of its request, and of what came back. */
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

  /** @param token of a key that may do what hostile requests may do */
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

  /** @returns what is wrong with what is answered */
  async #answerFault(request: HostileRequest, connection: RawConnection): Promise<string | undefined> {
    if (request.sent === 'reset') {
      connection.abort()
      return undefined
    }
    const isWhole = !request.isMutated && request.sent !== 'lost'
    await within(isWhole ? answerMsMax : mutatedMs, connection.answer())
    // Where something is missing, the service waits for it until our half is closed.
    if (!isWhole) {
      connection.end()
      if (!(await isClosed(connection))) return 'a connection that stays open'
    }
    const { answers, rest } = connection.parsed()
    const isOfLibrary = libraryPage.test(rest) && answers.at(-1)?.head.includes('\r\ncontent-length:') === false
    if (rest !== '' && !isOfLibrary) return `a part of an answer: ${rest}`
    for (const answer of answers) {
      if (!request.isMutated) this.#count(request, answer.status)
      const fault = this.#description.fault(request, answer)
      if (fault !== undefined) return fault
    }
    if (!isWhole) return undefined
    const [answer] = answers
    if (answer === undefined || answers.length > 1) return `${answers.length} answers`
    if (!request.closes && !/\r\nconnection: close/.test(answer.head)) return this.#markerFault(connection)
    return (await isClosed(connection)) ? undefined : 'a connection that stays open'
  }

  /** Whether the next request on the connection is read from its first byte: where the last one has really ended. */
  async #markerFault(connection: RawConnection): Promise<string | undefined> {
    const path = `a/marker/${this.#random.below(1_000_000)}`
    await connection.write(requestText('/topics/fetch', this.#token, JSON.stringify({ path })))
    await within(answerMsMax, connection.answers(2))
    const { answers, rest } = connection.parsed()
    const [, answer] = answers
    if (answer === undefined) return connection.isClosed ? 'a connection that is closed' : 'no answer to what followed'
    const expected = `{"code":"no_such_topic","message":"There is no topic at the path \\"${path}\\"."}`
    if (answer.status !== 400 || answer.body !== expected || answers.length !== 2 || rest !== '')
      return `what followed was answered ${answer.status} ${answer.body}${rest}`
    this.markers++
    return undefined
  }

  #count({ route }: HostileRequest, form: string | number): void {
    const name = `${route ?? 'other'} ${form}`
    this.counts[name] = (this.counts[name] ?? 0) + 1
  }
}

/**
 * Runs it as a process of its own, which gets only what time others leave: in earnest, its requests come from elsewhere.
 *
 * @param token of a key that may do what hostile requests may do
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
  if (found === undefined) throw new Error(`the fuzzer ended with ${child.exitCode}`)
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
