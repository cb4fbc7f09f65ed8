/**
 * What does an operation cost in a request with a million of them? One upload of lines to topicd, POST /topics/batch with
 * application/x-ndjson, fills an empty store, and two more overwrite the same topics:
 *
 *     npm run bench -- upload [--topics N] [options]
 *
 * For comparison, Redis gets as many SETs, pipelined over one connection, with `appendfsync always`. etcd has no uploads and gets a tenth
 * as many puts, in transactions sent in turn. Every response is checked. Afterwards the number of topics and a sample of the values are
 * verified. This process holds only the piece that it sends next.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { opened } from '../drivers/crowd.js'
import { uploadCommands, uploadLines, uploadTransactions } from '../drivers/upload.js'
import { problemWith } from '../measure/check.js'
import { cpuSeconds, readCpu } from '../measure/cpu.js'
import { send } from '../measure/http.js'
import { median } from '../measure/statistics.js'
import { readCommandLine, UsageError } from '../options.js'
import { etcd } from '../servers/etcd.js'
import { redis, redisVersion, startRedis } from '../servers/redis.js'
import type { Running } from '../servers/server.js'
import { thisBuild, topicd } from '../servers/topicd.js'
import { type Session, withSession } from '../session.js'
import { type Item, itemText } from '../workloads/operation.js'
import { seeded, Tree } from '../workloads/tree.js'
import { usualScale } from '../workloads/workload.js'

const topicsDefault = 1_000_000
const topicsInSmoke = 10_000

/** The number of topics is a multiple of this, so that a tenth of the topics also fills whole groups. */
const topicsStep = 10_000

/** Operations generated and sent in one piece. */
const operationsAtOnce = 1000

/** Operations per transaction: etcd's default limit. */
const transactionOperations = 128

/** Divisor of etcd's number of operations, so that it takes no longer than the others. */
const etcdShare = 10

/** Topics whose values are read back. */
const readBackCount = 100

/** A server with an empty store. */
interface Opened {
  readonly pids: readonly number[]
  upload(items: Iterable<Item>, count: number): Promise<void>
  /** The number of topics in the store. */
  count(): Promise<number>
  /** The problem with a topic's value; undefined if the value is correct. */
  problemWith(item: Item): Promise<string | undefined>
  close(): Promise<void>
}

interface Contestant {
  readonly name: string
  readonly topics: number
  /** A note on its figures. */
  readonly remark: string
  open(directory: string): Promise<Opened>
}

/** The uploads in sequence, each with a variant of the values and an order. */
const cases = [
  { name: 'created in tree order', variant: 1, isOrdered: true },
  { name: 'overwritten in tree order', variant: 2, isOrdered: true },
  { name: 'overwritten in no order', variant: 3, isOrdered: false },
] as const

/** The figures of one upload. */
interface Figures {
  readonly seconds: number
  readonly microseconds: number
  /** CPU seconds of this process per second. */
  readonly clientLoad: number
}

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words } = readCommandLine(argv)
  if (words[0] !== undefined) throw new UsageError(`unexpected argument "${words[0]}"`)
  const topics = options.topics ?? (options.smoke ? topicsInSmoke : topicsDefault)
  if (topics % topicsStep !== 0) throw new UsageError(`--topics must be a multiple of ${topicsStep}, not ${topics}`)
  const valueBytes = options.valueBytes ?? usualScale.valueBytes
  const ours = await topicd(thisBuild)
  if (ours.missing !== undefined) throw new UsageError(`topicd cannot run: ${ours.missing}`)
  const setting = { workers: options.workers, responseBytes: 2 }
  const contestants: Contestant[] = [
    {
      name: 'topicd',
      topics,
      remark: '',
      open: async (directory) => lines(await ours.start({ ...setting, directory })),
    },
  ]
  if (redisVersion !== undefined) contestants.push({ name: 'redis', topics, remark: '', open: commands })
  if (etcd.missing === undefined) {
    contestants.push({
      name: 'etcd',
      topics: topics / etcdShare,
      remark: `, in transactions of ${transactionOperations}`,
      open: async (directory) => transactions(await etcd.start({ ...setting, directory })),
    })
  }
  const withoutGateway = { ...redis, version: redisVersion && `redis ${redisVersion.slice(2)}` }
  return withSession(options, [ours, withoutGateway, etcd], async (session) => {
    const figures = new Map<string, Figures[]>()
    for (let round = 0; round < options.rounds; round++) {
      for (const contestant of contestants) await runCases(contestant, valueBytes, session, figures)
    }
    report(contestants, figures, session.print)
    return true
  })
}

/** Runs all cases on one store. @throws Error if a response was wrong or a topic is not as sent */
async function runCases(
  { name, topics, open }: Contestant,
  valueBytes: number,
  { measureOptions }: Session,
  figures: Map<string, Figures[]>,
): Promise<void> {
  const directory = await mkdtemp(join(measureOptions.sandboxes.temporary, 'upload-'))
  const tree = new Tree(topics, valueBytes)
  const server = await open(directory)
  try {
    for (const { name: order, variant, isOrdered } of cases) {
      const key = keyOf(order, name)
      const taken = await measured(server, () => server.upload(items(tree, variant, isOrdered), topics), topics)
      figures.set(key, [...(figures.get(key) ?? []), taken])
      const count = await server.count()
      if (count !== topics) throw new Error(`${key}: ${count} topics exist, not ${topics}`)
      for (const index of tree.sample(readBackCount, variant)) {
        const problem = await server.problemWith({ path: tree.path(index), value: tree.value(index, variant) })
        if (problem !== undefined) throw new Error(`${key}: ${problem}`)
      }
    }
  } finally {
    await server.close()
    await rm(directory, { recursive: true, force: true })
  }
}

async function measured(server: Opened, upload: () => Promise<void>, count: number): Promise<Figures> {
  const before = readCpu(server.pids)
  const ownBefore = process.cpuUsage()
  const beganMs = performance.now()
  await upload()
  const seconds = (performance.now() - beganMs) / 1000
  const own = process.cpuUsage(ownBefore)
  return {
    seconds,
    microseconds: (cpuSeconds(before, readCpu(server.pids)) * 1e6) / count,
    clientLoad: (own.user + own.system) / 1e6 / seconds,
  }
}

/** All topics of a tree with one variant of their values. */
function* items(tree: Tree, variant: number, isOrdered: boolean): Generator<Item> {
  const order = isOrdered ? undefined : permutation(tree.topics)
  for (let i = 0; i < tree.topics; i++) {
    const index = order?.[i] ?? i
    yield { path: tree.path(index), value: tree.value(index, variant) }
  }
}

/** The numbers below `count` in a fixed random order (Fisher and Yates). */
function permutation(count: number): Uint32Array {
  const random = seeded(11)
  const numbers = Uint32Array.from({ length: count }, (_, i) => i)
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const other = numbers[j] ?? 0
    numbers[j] = numbers[i] ?? 0
    numbers[i] = other
  }
  return numbers
}

/** Pieces of text with many items each. */
function* pieces(items: Iterable<Item>, text: (item: Item) => string): Generator<string> {
  for (const some of groups(items, operationsAtOnce)) yield some.map(text).join('')
}

function* groups(items: Iterable<Item>, size: number): Generator<Item[]> {
  let group: Item[] = []
  for (const item of items) {
    if (group.push(item) < size) continue
    yield group
    group = []
  }
  if (group.length > 0) yield group
}

function lines(running: Running): Opened {
  const line = ({ path, value }: Item): string => `{"op":"addAndSet","path":${JSON.stringify(path)},"value":${value}}\n`
  return {
    pids: running.pids(),
    upload: (items, count) => uploadLines(running, pieces(items, line), count),
    async count() {
      const post = { method: 'POST', path: '/topics/fetch', body: '{"selector":"*a//","count":true}' } as const
      const { body } = await send(running.port, running.headers, post)
      return (JSON.parse(body) as { count: number }).count
    },
    problemWith: ({ path, value }) => problemWith(running, { kind: 'fetch', path, values: [value] }),
    close: running.stop,
  }
}

async function commands(directory: string): Promise<Opened> {
  const { child, port } = await startRedis(directory)
  const set = (item: Item): string => command('SET', item.path, itemText(item))
  return {
    pids: [child.pid],
    upload: (items, count) => uploadCommands(port, pieces(items, set), count),
    count: async () => Number((await answerTo(port, command('DBSIZE'))).slice(1)),
    async problemWith(item) {
      const [text, answer] = [itemText(item), await answerTo(port, command('GET', item.path))]
      return answer === `$${text.length}\r\n${text}\r\n` ? undefined : `${item.path} was read back as ${answer}`
    },
    close: child.stop,
  }
}

/** A command in Redis's protocol. The words here are ASCII. */
function command(...words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`
}

/** The response to a command over its own connection, which Redis closes afterwards. */
async function answerTo(port: number, command: string): Promise<string> {
  const socket = await opened(port)
  socket.setEncoding('latin1').end(command)
  let answer = ''
  for await (const piece of socket) answer += piece
  return answer
}

function transactions(running: Running): Opened {
  const bodies = function* (items: Iterable<Item>): Generator<string> {
    for (const writes of groups(items, transactionOperations)) {
      const exchange = running.exchange({ kind: 'batch', writes })
      if (exchange !== undefined) yield exchange.body
    }
  }
  return {
    pids: running.pids(),
    upload: (items) => uploadTransactions(running, bodies(items)),
    async count() {
      const [key, range_end] = ['a/', 'a0'].map((text) => Buffer.from(text).toString('base64'))
      const body = JSON.stringify({ key, range_end, count_only: true })
      const answer = await send(running.port, running.headers, { method: 'POST', path: '/v3/kv/range', body })
      return Number((JSON.parse(answer.body) as { count: string }).count)
    },
    problemWith: ({ path, value }) => problemWith(running, { kind: 'fetch', path, values: [value] }),
    close: running.stop,
  }
}

function keyOf(order: string, name: string): string {
  return `${order.padEnd(27)}${name.padEnd(8)}`
}

function report(
  contestants: readonly Contestant[],
  figures: ReadonlyMap<string, readonly Figures[]>,
  print: (text: string) => void,
): void {
  for (const { name: order } of cases) {
    for (const { name, topics, remark } of contestants) {
      const key = keyOf(order, name)
      const own = figures.get(key) ?? []
      const of = (figure: keyof Figures): number => median(own.map((each) => each[figure]))
      const rate = Math.round(topics / of('seconds')).toLocaleString('en')
      const took = `${topics.toLocaleString('en')} operations in ${of('seconds').toFixed(1)} s, ${rate} per second`
      const client = `${Math.round(of('clientLoad') * 100)} % of a core for the client`
      print(`${key}${took}, ${of('microseconds').toFixed(1)} µs CPU each, ${client}${remark}`)
    }
  }
}
