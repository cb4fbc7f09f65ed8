/**
 * On each engine, the log can be read from a place until more than `changesKept` changes follow it, from any host. Random moves (SEED=…
 * replays them) let hosts join, leave and fall silent on a full log. Places of every age, some within commits, are read from at any time
 * and must yield every later change once. CHANGES=1000000 runs more and larger moves.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import type { LogPlace } from '../../dist/store/changes.js'
import { openStore } from '../../dist/store/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import { pathOfKeyText } from '../../dist/topics/key.js'
import { type Random, seededRandom } from '../support/random.js'
import { skippableTime } from '../support/skipped-time.js'
import { postgres } from '../support/stores/postgres.js'
import { creation, single } from '../support/stores/store.js'
import { eachKind } from '../support/stores/stores.js'
import type { StoreKind } from '../support/test-process.js'

const changesMin = Number(process.env.CHANGES ?? 250)
const scale = Math.ceil(changesMin / 20_000)
const changesKept = 60 * scale
const commitChangesMax = 8 * scale
const topicsMax = 100 * scale
const tokensMax = 40

/** Maximum number of concurrent hosts. */
const hostsMax: Readonly<Record<StoreKind, number>> = { lmdb: 1, PostgreSQL: 3 }

/** In ms. A session ends after twice this idle time. */
const agedMs = 30_000

interface Token {
  readonly place: LogPlace
  /** The log's total number of changes at the place where the reading that led to this one started. */
  readonly begun: number
  /** Changes still to be read: these, and all from number `next` on. */
  readonly rest: readonly string[]
  readonly next: number
}

// A file with a teardown ends as soon as no test is running, so start the engine first.
await postgres()
const time = skippableTime(t)

class Model {
  readonly #hosts: TopicStore[] = []
  /** Every change, in the order of the commits. */
  readonly #changes: string[] = []
  readonly #tokens: Token[] = []
  gone = 0
  answered = 0

  constructor(
    private readonly random: Random,
    private readonly open: () => Promise<TopicStore>,
    private readonly hostsMax: number,
  ) {}

  get changed(): number {
    return this.#changes.length
  }

  async move(): Promise<void> {
    const { random } = this
    const host = this.#hosts.length > 0 ? random.pick(this.#hosts) : await this.join()
    switch (random.below(8)) {
      case 0:
      case 1:
        return this.write(host, 1 + random.below(commitChangesMax))
      case 2:
        return void (await this.take(host))
      case 3:
      case 4:
        return this.ask(host)
      case 5:
        return void (await (this.#hosts.length < this.hostsMax ? this.join() : this.leave(host)))
      case 6:
        return random.oneIn(2) ? this.leave(host) : time.pass(random.below(3 * agedMs))
      default:
        return this.sweep(1 + random.below(agedMs))
    }
  }

  async join(): Promise<TopicStore> {
    const host = await this.open()
    this.#hosts.push(host)
    return host
  }

  async leave(host: TopicStore): Promise<void> {
    this.#hosts.splice(this.#hosts.indexOf(host), 1)
    // A host ends its lease only if it believes that it holds it. Skipped time makes it seem expired, so a sweep renews it.
    await host.removeDue(planSelector)
    await host.close()
  }

  async end(): Promise<void> {
    for (const host of [...this.#hosts]) await this.leave(host)
  }

  /** Changes topics in one commit, or concurrently in several. */
  async write(host: TopicStore, count: number): Promise<void> {
    const first = this.random.below(topicsMax)
    const topics = Array.from({ length: count }, (_, i) => `t/${(first + i) % topicsMax}`)
    const value = Buffer.from('1')
    if (this.random.oneIn(2))
      await host.write(topics.map((topic) => ({ kind: 'addAndSet', ...creation(topic), valueText: value })))
    else
      await Promise.all(topics.map((topic) => single.addAndSet(this.random.pick(this.#hosts), creation(topic), value)))
    this.#changes.push(...topics)
  }

  async take(host: TopicStore): Promise<void> {
    const place = await host.inSnapshot((log) => log.end())
    const { length } = this.#changes
    this.#keep({ place, begun: length, rest: [], next: length })
  }

  #keep(token: Token): void {
    if (this.#tokens.length === tokensMax) this.#tokens.splice(this.random.below(tokensMax), 1)
    this.#tokens.push(token)
  }

  /** Reads all changes after a token, or only a part, and keeps a new token for the rest. */
  async ask(host: TopicStore): Promise<void> {
    if (this.#tokens.length === 0) return
    const token = this.random.pick(this.#tokens)
    const rest = [...token.rest, ...this.#changes.slice(token.next)]
    const isWhole = this.random.oneIn(2)
    for (let { place } = token; ; ) {
      const keysMax = 1 + this.random.below(20 * scale)
      const changes = await host.inSnapshot((log) => log.changesAfter(place, keysMax, (changes) => changes))
      if (changes === 'gone') return this.#forget(token)
      const taken = this.random.below(changes.keys.length + 1)
      for (const key of changes.keys.slice(0, taken)) {
        const index = rest.indexOf(pathOfKeyText(key))
        if (index === -1) throw new Error(`${pathOfKeyText(key)} did not change after the place, or appears twice`)
        rest.splice(index, 1)
      }
      place = changes.placeAt(taken)
      if (!isWhole) return this.#keep({ place, begun: token.begun, rest, next: this.#changes.length })
      if (changes.isAll && taken === changes.keys.length) break
    }
    if (rest.length > 0) throw new Error(`changes were missed: ${rest}`)
    this.answered++
  }

  #forget(token: Token): void {
    const since = this.#changes.length - token.begun
    if (since <= changesKept) throw new Error(`a place was gone after only ${since} changes`)
    this.#tokens.splice(this.#tokens.indexOf(token), 1)
    this.gone++
  }

  /** Every host removes due topics, and trims the log if it is the host's turn. */
  async sweep(afterMs: number): Promise<void> {
    time.pass(afterMs)
    for (const host of this.#hosts) await host.removeDue(planSelector)
  }

  /** Trims the log completely; returns its number of changes and the maximum. */
  async trim(): Promise<{ readonly changes: number; readonly changesMax: number }> {
    const host = this.#hosts[0] ?? (await this.join())
    for (let sweep = 0; sweep < 3; sweep++) await this.sweep(agedMs)
    const { log } = await host.stats()
    return { changes: log?.changes ?? 0, changesMax: changesKept + commitChangesMax }
  }
}

async function play(t: Test, kind: StoreKind, address: string): Promise<void> {
  const random = seededRandom(t)
  const directory = join(t.testdir(), 'db')
  const model = new Model(random, () => openStore(address, { directory, changesKept }), hostsMax[kind])
  try {
    for (let move = 1; model.changed < changesMin; move++) {
      await model.move()
      if (move % 60 !== 0) continue
      const { changes, changesMax } = await model.trim()
      if (changes > changesMax) throw new Error(`the log has ${changes} changes; the maximum is ${changesMax}`)
    }
    t.comment(`${model.changed} changes; ${model.answered} places could be read from, ${model.gone} were gone`)
    t.ok(model.answered > 0 && model.gone > 0)
  } finally {
    await model.end()
  }
}

await eachKind(t, async (t, kind, makeStore) => {
  await t.test(
    'the log can be read from a position until too many changes follow that position',
    { timeout: 3_600_000 },
    async (t) => play(t, kind, await makeStore()),
  )

  await t.test('the log cannot be read from a position in the log of another store', async (t) => {
    const places: LogPlace[] = []
    for (const name of ['one', 'two']) {
      const store = await openStore(await makeStore(), { directory: join(t.testdir({ one: {}, two: {} }), name) })
      await single.add(store, creation('a'))
      for (const place of places)
        t.equal(await store.inSnapshot((log) => log.changesAfter(place, 1, (changes) => changes)), 'gone')
      places.push(await store.inSnapshot((log) => log.end()))
      await store.close()
    }
  })
})
