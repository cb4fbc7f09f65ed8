/**
 * What does an event cost when many streams follow? Two cases, each compared with a bare server that writes the same bytes, and with the
 * peers that announce changes:
 *
 *     same    all streams follow one subtree: each commit is one event per stream
 *     own     each follows its own subtree: a commit that changes one topic in each subtree is one event per stream
 *
 *     npm run bench -- changes [--streams N] [options]
 *
 * The figure is the CPU time of all server processes per event, minus the cost of the same writes without followers. Every stream must get
 * every event, and its last event must have the last value. Then a client commits at a fixed pace, regardless of the server's speed and
 * alongside other writes. How long after its commit was due does an event arrive, and how long does a concurrent fetch take?
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openCrowd } from '../drivers/crowd.js'
import { Poster } from '../drivers/poster.js'
import { startProber } from '../drivers/prober.js'
import { StreamCrowd } from '../drivers/streams.js'
import { cpuSeconds, readCpu } from '../measure/cpu.js'
import { median, percentile } from '../measure/statistics.js'
import { positive, readCommandLine, text, UsageError } from '../options.js'
import { startFloor } from '../servers/floor.js'
import { byEvents, type Following, followedPeers } from '../servers/following.js'
import type { Running, Server } from '../servers/server.js'
import { thisBuild, topicd } from '../servers/topicd.js'
import { openOn, type Session, withSession } from '../session.js'
import { fetchPath } from '../workloads/reads/fetch-path.js'

const streamsDefault = 1000
const streamsInSmoke = 20

/** Streams per API key: half of the limit per worker. */
const streamsOfKeyMax = 500

/** Approximate bytes of a topicd event with a small value. */
const eventBytes = 190

/** Events per stream in a burst. */
const eventsOfStream = 50
const eventsInSmoke = 5

/** Commits whose delays are measured, and the interval between their due times. */
const delaysCount = 400
const delaysInSmoke = 10
const commitEveryMs = 10

/** Connections of other writers, and the total rate of their writes while delays are measured. */
const othersCount = 16
const othersPerSecond = 1000

/** Writes per writer while streams that do not match them are open. */
const unmatchedWrites = 1000
const unmatchedInSmoke = 5

/** Time after streams are opened or closed, for the effects to settle. */
const settleMs = 500

const program = fileURLToPath(new URL('../servers/programs/bare-streams.js', import.meta.url))

const bareStreams: Server = {
  name: 'bare',
  version: undefined,
  durability: 'stores nothing',
  answersConstants: true,
  start: (setting) => startFloor(program, { ...setting, responseBytes: eventBytes }),
}

type Case = 'same' | 'own'

const cases: readonly Case[] = ['same', 'own']

/** A running server, and the way to follow its changes. */
interface Contestant {
  readonly name: string
  readonly running: Running
  readonly following: Following
}

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words, own } = readCommandLine(argv, { streams: text })
  if (words[0] !== undefined) throw new UsageError(`unexpected argument "${words[0]}"`)
  const streams = positive('streams', own.streams) ?? (options.smoke ? streamsInSmoke : streamsDefault)
  // The limits apply per worker, and one worker may accept many more connections than another.
  const flags = ['--changes-listeners-max', String(streams + othersCount)]
  const ours = await topicd({ ...thisBuild, flags, moreKeys: Math.floor(streams / streamsOfKeyMax) })
  const all = [
    { server: bareStreams, following: byEvents },
    { server: ours, following: byEvents },
    ...followedPeers.filter(({ server }) => server.missing === undefined),
  ]
  const servers = all.map(({ server }) => server)
  return withSession(options, servers, async (session) => {
    const opened: (Contestant & { close(): Promise<void> })[] = []
    try {
      for (const { server, following } of all) {
        opened.push({ name: server.name, following, ...(await openOn(server, fetchPath, session)) })
      }
      for (const each of cases) await compare(each, opened, streams, session)
      const [, { running } = { running: undefined }] = opened
      if (running === undefined) return false
      await measureUnmatched(running, streams, session)
      await measureDelays(running, streams, session)
      return true
    } finally {
      for (const { close } of opened) await close()
    }
  })
}

/** Compares all contestants with the first. */
async function compare(
  each: Case,
  contestants: readonly Contestant[],
  streams: number,
  session: Session,
): Promise<void> {
  const figures = contestants.map((): number[] => [])
  for (let round = 0; round < session.options.rounds; round++) {
    for (const [i, contestant] of contestants.entries()) {
      figures[i]?.push(await microsecondsAnEvent(each, contestant, streams, session))
    }
  }
  const floor = figures[0] ?? []
  for (const [i, { name }] of contestants.entries()) {
    const own = figures[i] ?? []
    const ratio = median(own.map((figure, round) => figure / (floor[round] ?? Number.NaN)))
    const figure = `${median(own).toFixed(2)} µs CPU per event, ${ratio.toFixed(2)} × ${contestants[0]?.name}`
    session.print(`${each.padEnd(5)}${streams} streams, ${name.padEnd(16)}${figure}`)
  }
}

/** @throws Error if a stream misses an event or gets one too many */
async function microsecondsAnEvent(
  each: Case,
  { running, following }: Contestant,
  streams: number,
  session: Session,
): Promise<number> {
  const commits = session.options.smoke ? eventsInSmoke : eventsOfStream
  const groups = each === 'same' ? 1 : streams
  const client = new Poster(running, following)
  const alone = await cpuOf(running, async () => {
    for (let i = 0; i < commits; i++) await client.write(groups, `alone ${i}`)
  })
  const followed = Array.from({ length: streams }, (_, i) => (each === 'same' ? undefined : i))
  const crowd = await StreamCrowd.open(running, following, followed)
  try {
    const before = crowd.events
    const seconds = await cpuOf(running, async () => {
      for (let i = 0; i < commits; i++) {
        await client.write(groups, `followed ${i}`)
        await crowd.until(before + (i + 1) * streams)
      }
    })
    if (crowd.problem !== undefined) throw new Error(crowd.problem)
    await sleep(100)
    if (crowd.events !== before + commits * streams) throw new Error(`${crowd.events - before} events`)
    if (!crowd.haveAll(`followed ${commits - 1}`)) throw new Error('a stream does not have the last value')
    return ((seconds - alone) * 1e6) / (commits * streams)
  } finally {
    crowd.close()
    client.close()
    await sleep(settleMs)
  }
}

async function cpuOf(running: Running, work: () => Promise<void>): Promise<number> {
  const before = readCpu(running.pids())
  await work()
  return cpuSeconds(before, readCpu(running.pids()))
}

/**
 * Measures the delay from a commit's due time to its event, alongside other writes; and the longest fetch during an event for all streams.
 */
async function measureDelays(running: Running, streams: number, session: Session): Promise<void> {
  const { smoke } = session.options
  const client = new Poster(running)
  const one = await StreamCrowd.open(running, byEvents, [undefined])
  await client.post('addAndSet', { path: 'other', value: 0 })
  const write = { method: 'POST', path: '/topics/addAndSet', body: '{"path":"other","value":0}' } as const
  const other = { ...write, expected: ['{"path":"other","created":false}'] }
  const others = await openCrowd(running, other, othersCount, (othersCount / othersPerSecond) * 1000)
  const beganMs = performance.now()
  const dueMs: number[] = []
  const commits = Array.from({ length: smoke ? delaysInSmoke : delaysCount }, async (_, i) => {
    const atMs = beganMs + i * commitEveryMs
    dueMs.push(atMs)
    await sleep(Math.max(0, atMs - performance.now()))
    // One connection keeps the events in this order. Each commit has its own topic, or its change could be merged with the next.
    await client.post('addAndSet', { path: `g/${i}/n`, value: i })
  })
  await Promise.all(commits)
  await one.until(dueMs.length)
  const delays = one.eventsMs.map((eventMs, i) => eventMs - (dueMs[i] ?? Number.NaN))
  const problem = one.problem ?? others.problem()
  if (problem !== undefined) throw new Error(problem)
  others.close()
  one.close()
  const at = (share: number): string => percentile(delays, share).toFixed(2)
  session.print(
    `an event arrives ${at(0.5)} ms after its commit was due (p99 ${at(0.99)} ms), with ${othersPerSecond} other writes per second`,
  )
  session.print(
    `the longest fetch during an event for ${streams} streams: ${(await longestFetch(running, streams, smoke)).toFixed(1)} ms`,
  )
  client.close()
}

async function longestFetch(running: Running, streams: number, isSmoke: boolean): Promise<number> {
  const all = Array.from({ length: streams }, () => undefined)
  const crowd = await StreamCrowd.open(running, byEvents, all)
  const writer = new Poster(running)
  const prober = await startProber(running, '/topics/fetch', JSON.stringify({ path: 'g/0/n' }))
  for (let i = 0; i < (isSmoke ? 2 : 20); i++) {
    const before = crowd.events
    await writer.write(1, `slices ${i}`)
    await crowd.until(before + streams)
  }
  const longestMs = await prober.stop()
  if (crowd.problem !== undefined) throw new Error(crowd.problem)
  crowd.close()
  writer.close()
  return longestMs
}

/**
 * Measures how much streams that match no write cost the writers: the CPU time of a write with these streams open, divided by that without
 * them.
 */
async function measureUnmatched(running: Running, streams: number, session: Session): Promise<void> {
  const writers = Array.from({ length: othersCount }, () => new Poster(running))
  const each = session.options.smoke ? unmatchedInSmoke : unmatchedWrites
  const write = (): Promise<number> =>
    cpuOf(running, async () => {
      await Promise.all(
        writers.map(async (writer, i) => {
          for (let n = 0; n < each; n++) await writer.post('addAndSet', { path: `others/${i}`, value: n })
        }),
      )
    })
  await write()
  const all = Array.from({ length: streams }, (_, i) => i)
  const ratios: number[] = []
  for (let round = 0; round < session.options.rounds; round++) {
    const alone = await write()
    const crowd = await StreamCrowd.open(running, byEvents, all)
    await sleep(settleMs)
    const beside = await write()
    if (crowd.problem !== undefined || crowd.events > 0) throw new Error(crowd.problem ?? 'events of other topics')
    crowd.close()
    await sleep(settleMs)
    ratios.push(beside / alone)
  }
  session.print(`a write alongside ${streams} streams that do not match it: ${median(ratios).toFixed(2)} ×`)
  for (const writer of writers) writer.close()
}
