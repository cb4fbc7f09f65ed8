/**
 * What does compressing pages cost, and on which links is it worthwhile? Each page is fetched from a service without and with `--gzip` and,
 * if nginx is installed, through nginx, plain and compressed by nginx. Every body is compared with the correct one.
 *
 *     npm run bench -- gzip [options]
 *
 * `CPU` is the time of all server processes per page, including the proxy's, with several requests in flight. The other times are for one
 * request at a time on this machine until the page is received and unpacked, plus the transfer time of its bytes at that many Mbit/s. On
 * links slower than `even`, the compressed page arrives sooner than the plain one.
 */
import { Agent, request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { cpuSeconds, readCpu } from '../measure/cpu.js'
import { perform } from '../measure/sandbox.js'
import { median } from '../measure/statistics.js'
import { readCommandLine, UsageError } from '../options.js'
import { nginxBefore, nginxMissing } from '../servers/nginx.js'
import type { Exchange, Running } from '../servers/server.js'
import { thisBuild, topicd } from '../servers/topicd.js'
import { openOn, type Session, withSession } from '../session.js'
import type { Operation } from '../workloads/operation.js'
import { page10, pageAfter } from '../workloads/reads/page.js'
import { record } from '../workloads/record.js'
import type { Tree } from '../workloads/tree.js'

const pageSizes = [10, 100, 1000]
const pageSizesInSmoke = [10, 100]

/** Requests in flight while CPU time is measured: as many as zlib has threads, so that each thread is busy. */
const inFlight = 4

/** Requests per round, sent one at a time, whose times are measured. */
const alone = 20

const linkMegabits = [10, 100, 1000]

/** A page, as the operation that fetches it. */
interface Page {
  readonly name: string
  readonly operation: Operation
}

/** A route from the server to a client. */
interface Way {
  readonly name: string
  readonly running: Running
  readonly acceptEncoding: string
}

/** The measurements of a page over one route, from all rounds. */
interface Findings {
  bytes: number
  readonly microseconds: number[]
  readonly milliseconds: number[]
}

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words } = readCommandLine(argv)
  if (words[0] !== undefined) throw new UsageError(`unexpected argument "${words[0]}"`)
  const plain = await topicd(thisBuild)
  const compressing = await topicd({ ...thisBuild, name: 'topicd --gzip', flags: ['--gzip'] })
  return withSession(options, [plain, compressing], async (session) => {
    const closing: (() => Promise<void>)[] = []
    try {
      const { running, tree, close } = await openOn(plain, page10, session)
      closing.push(close)
      const other = await openOn(compressing, page10, session)
      closing.push(other.close)
      const ways = [
        { name: 'plain', running, acceptEncoding: 'identity' },
        { name: '--gzip', running: other.running, acceptEncoding: 'gzip' },
      ]
      if (nginxMissing) session.print('LEFT OUT: nginx is not installed')
      else {
        const proxied = await nginxBefore(running, session.measureOptions.sandboxes.temporary)
        closing.push(() => proxied.stop())
        ways.push({ name: 'nginx, plain', running: proxied, acceptEncoding: 'identity' })
        ways.push({ name: 'nginx, gzip', running: proxied, acceptEncoding: 'gzip' })
      }
      for (const { running } of ways.slice(0, 2)) await perform(running, recordCreations(), false)
      session.print(header())
      for (const page of pagesOf(tree, options.smoke)) await measurePage(page, ways, session)
      return true
    } finally {
      for (const close of closing.reverse()) await close()
    }
  })
}

const recordPath = (i: number): string => `record/${String(i).padStart(4, '0')}`

function* recordCreations(): Generator<Operation> {
  for (let i = 0; i <= Math.max(...pageSizes); i++) yield { kind: 'create', path: recordPath(i), value: record(i) }
}

function pagesOf(tree: Tree, smoke: boolean): Page[] {
  const sizes = smoke ? pageSizesInSmoke : pageSizes
  const records = (size: number): Operation => ({
    kind: 'page',
    selector: { subtree: 'record' },
    after: undefined,
    size,
    items: Array.from({ length: size }, (_, i) => ({ path: recordPath(i), value: record(i) })),
    hasMore: true,
  })
  return [
    ...sizes.map((size) => ({ name: `${size} × ${tree.valueBytes} B`, operation: pageAfter(tree, 0, size) })),
    ...sizes.map((size) => ({ name: `${size} records`, operation: records(size) })),
  ]
}

/** @throws Error if a response is wrong */
async function measurePage({ name, operation }: Page, ways: readonly Way[], session: Session): Promise<void> {
  const { rounds, seconds } = session.options
  const findings = ways.map((): Findings => ({ bytes: 0, microseconds: [], milliseconds: [] }))
  // Start with an uncounted round, so that all code is compiled.
  for (let round = -1; round < rounds; round++) {
    for (const [i, way] of ways.entries()) {
      const own = findings[i] as Findings
      const client = new Client(way, operation)
      const microseconds = await cpuOfAPage(way.running, client, seconds)
      const milliseconds = await timeOfAPage(client)
      client.close()
      own.bytes = client.bytes
      if (round < 0) continue
      own.microseconds.push(microseconds)
      own.milliseconds.push(milliseconds)
    }
  }
  for (const [i, way] of ways.entries()) session.print(row(name, way.name, findings[i] as Findings, findings[0]))
}

async function cpuOfAPage({ pids }: Running, client: Client, seconds: number): Promise<number> {
  const endMs = performance.now() + seconds * 1000
  let pages = 0
  const fetchOn = async (): Promise<void> => {
    for (; performance.now() < endMs; pages++) await client.fetch()
  }
  const before = readCpu(pids())
  await Promise.all(Array.from({ length: inFlight }, fetchOn))
  return (cpuSeconds(before, readCpu(pids())) * 1e6) / pages
}

async function timeOfAPage(client: Client): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < alone; i++) {
    const beganMs = performance.now()
    const body = await client.fetch()
    if (client.isGzipped) gunzipSync(body)
    times.push(performance.now() - beganMs)
  }
  return median(times)
}

/** Fetches one page over keep-alive connections, and compares every body with the correct one. */
class Client {
  bytes = 0
  isGzipped = false
  readonly #agent = new Agent({ keepAlive: true, maxSockets: inFlight })
  readonly #exchange: Exchange
  /** A body that was unpacked and found correct. Identical bodies are not unpacked again. */
  #known: Buffer = Buffer.alloc(0)

  constructor(
    private readonly way: Way,
    operation: Operation,
  ) {
    this.#exchange = way.running.exchange(operation) as Exchange
  }

  fetch(): Promise<Buffer> {
    const { running, acceptEncoding } = this.way
    const { method, path, body } = this.#exchange
    const headers = {
      ...running.headers,
      'accept-encoding': acceptEncoding,
      'content-length': Buffer.byteLength(body),
    }
    const options = { host: '127.0.0.1', port: running.port, agent: this.#agent, method, path, headers }
    return new Promise((resolve, reject) => {
      const sent = request(options, (answer) => {
        const pieces: Buffer[] = []
        answer.on('data', (piece: Buffer) => pieces.push(piece)).on('error', reject)
        answer.on('end', () => {
          const whole = Buffer.concat(pieces)
          this.#check(whole, answer.headers['content-encoding'] === 'gzip')
          resolve(whole)
        })
      })
      sent.on('error', reject).end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }

  /** @throws Error if the body is wrong */
  #check(body: Buffer, isGzipped: boolean): void {
    if (body.equals(this.#known)) return
    const plain = (isGzipped ? gunzipSync(body) : body).toString()
    if (!this.#exchange.expected.includes(plain)) throw new Error(`${this.way.name}: a wrong response: ${plain}`)
    this.#known = body
    this.bytes = body.length
    this.isGzipped = isGzipped
  }
}

const widths = [14, 14, 9, 9, ...linkMegabits.map(() => 12), 12]

function header(): string {
  return line(['page', 'way', 'bytes', 'CPU', ...linkMegabits.map((link) => `${link} Mbit/s`), 'even'])
}

function row(page: string, way: string, findings: Findings, plain: Findings | undefined): string {
  const ms = median(findings.milliseconds)
  const times = linkMegabits.map((link) => `${(ms + (findings.bytes * 8) / 1000 / link).toFixed(2)} ms`)
  return line([
    page,
    way,
    findings.bytes,
    `${median(findings.microseconds).toFixed(0)} µs`,
    ...times,
    even(findings, plain),
  ])
}

/** The link speed at which both take the same time. */
function even(findings: Findings, plain: Findings | undefined): string {
  if (plain === undefined || findings.bytes >= plain.bytes) return ''
  const moreMs = median(findings.milliseconds) - median(plain.milliseconds)
  return moreMs <= 0 ? 'any' : `${(((plain.bytes - findings.bytes) * 8) / 1000 / moreMs).toFixed(0)} Mbit/s`
}

function line(cells: readonly (string | number)[]): string {
  const padded = cells.map((cell, i) => String(cell)[i < 2 ? 'padEnd' : 'padStart'](widths[i] ?? 0))
  return padded.join('').trimEnd()
}
