/** Followers that request the same form share a stream, and each sees the changes that its own stream would show. */
import t, { type Test } from 'tap'
import { type Changes, type Client, connect, type LiveTopics } from '../../dist/client/index.js'
import { ChangesModel, type Tree } from '../support/models/changes-model.js'
import { selects } from '../support/models/model.js'
import { type Random, seededRandom } from '../support/random.js'
import { until } from '../support/service/server.js'
import { turn } from '../support/turns.js'

/** Shortens the client's waits, but not its time limits for responses. @returns the time limits that are still running */
function hurry(t: Test): ReadonlySet<unknown> {
  const { setTimeout, clearTimeout } = globalThis
  const limits = new Set<unknown>()
  globalThis.setTimeout = ((callback: () => void, ms = 0) => {
    if (ms === 1000 || ms % 1000 !== 0) return setTimeout(callback, ms / 1000)
    const limit = setTimeout(callback, ms)
    limits.add(limit)
    return limit
  }) as typeof setTimeout
  globalThis.clearTimeout = ((timer: NodeJS.Timeout) => {
    limits.delete(timer)
    clearTimeout(timer)
  }) as typeof clearTimeout
  t.teardown(() => Object.assign(globalThis, { setTimeout, clearTimeout }))
  return limits
}

/** A follower of a selector that can leave and return, and compares its state with the model's history. */
class Watcher {
  readonly map = new Map<string, number>()
  /** The last moment whose state the watcher had, as an index of the history. */
  moment = 0
  completed = 0
  #unseen = new Set<string>()
  #breaks = false
  #controller = new AbortController()
  #changes: Changes
  #ended: Promise<void>
  /** Faults found. After a return, the state is not checked until it is complete. */
  readonly faults: string[] = []

  constructor(
    private readonly client: Client,
    private readonly model: ChangesModel,
    readonly selector: string,
  ) {
    this.#changes = this.#follow(undefined)
    this.#ended = this.#watch()
  }

  get isCurrent(): boolean {
    return this.faults.length > 0 || this.#differs(this.model.tree) === undefined
  }

  async leave(): Promise<void> {
    this.#controller.abort()
    await this.#ended
  }

  /** Ends the iteration at the next change, and starts another iteration of the same changes. */
  iterateAgain(): void {
    this.#breaks = true
  }

  async comeBack(): Promise<void> {
    await this.leave()
    this.#controller = new AbortController()
    const { next } = this.#changes
    // Without a position, the watcher starts with an empty state.
    if (next === undefined) this.map.clear()
    this.#changes = this.#follow(next)
    this.#ended = this.#watch()
  }

  #follow(since: string | undefined): Changes {
    return this.client.changes(this.selector, { since, signal: this.#controller.signal })
  }

  async #watch(): Promise<void> {
    try {
      for (;;) await this.#iterate()
    } catch (error) {
      if (!this.#controller.signal.aborted) this.faults.push(String(error))
    }
  }

  async #iterate(): Promise<void> {
    for await (const change of this.#changes) {
      if (change.kind === 'restarted') this.#unseen = new Set(this.map.keys())
      else if (change.kind === 'complete') this.#complete()
      else this.#set(change.path, change.kind === 'topic' ? (change.item.value as number) : undefined)
      if (this.#breaks) break
    }
    this.#breaks = false
  }

  #set(path: string, value: number | undefined): void {
    this.#unseen.delete(path)
    if (!selects(this.selector, path)) this.faults.push(`${path} is not for ${this.selector}`)
    const known = this.map.get(path) ?? 0
    if (value === undefined) this.map.delete(path)
    else if (value < known) this.faults.push(`${path} went back from ${known} to ${value}`)
    else this.map.set(path, value)
  }

  #complete(): void {
    this.completed++
    for (const path of this.#unseen) this.map.delete(path)
    this.#unseen.clear()
    const moment = this.model.history.findIndex(
      (tree, index) => index >= this.moment && this.#differs(tree) === undefined,
    )
    if (moment === -1) this.faults.push(`${this.selector}: ${this.#differs(this.model.tree)} since ${this.moment}`)
    else this.moment = moment
  }

  #differs(tree: Tree): string | undefined {
    const expected = [...tree].filter(([path]) => selects(this.selector, path))
    const [sorted, found] = [expected, [...this.map]].map((entries) => JSON.stringify(entries.sort()))
    return sorted === found ? undefined : `has ${found} instead of ${sorted}`
  }
}

const paths = ['a', 'b', 'c', 'a/b', 'a/x', 'b/x', 'c/x', 'c/y/z', 'd']
const selectors = ['a', '>a/b', '?a//', '*b//', '?.*/x', '*.*', '#a////?b/', '?c/.*//', '*(a|c)//']

/** A random event of the service or its followers. */
async function happen(random: Random, model: ChangesModel, client: Client, watchers: Watcher[]): Promise<void> {
  const stream = [...model.streams][random.below(Math.max(1, model.streams.size))]
  switch (random.below(12)) {
    case 0:
      for (let count = random.below(4); count > 0 && watchers.length < 12; count--)
        watchers.push(new Watcher(client, model, random.pick(selectors)))
      return
    case 1:
      if (watchers.length > 0) await watchers.splice(random.below(watchers.length), 1)[0]?.leave()
      return
    case 2:
      if (watchers.length === 0) return
      if (random.oneIn(2)) await random.pick(watchers).comeBack()
      else random.pick(watchers).iterateAgain()
      return
    case 3:
      if (stream !== undefined) model.endStream(stream, random.pick([undefined, 'rotated', 'draining']))
      return
    case 4:
      if (random.oneIn(10)) model.forget()
      return
    case 5:
      for (let turns = random.below(30); turns > 0; turns--) await turn()
      return
    default:
      model.change(random.pick(paths), random.oneIn(4))
      if (random.oneIn(2)) await turn()
  }
}

/** A fake service with a topic at each path, and a client with shortened waits. */
function connected(t: Test, ...existing: readonly string[]) {
  hurry(t)
  const model = new ChangesModel()
  for (const path of existing) model.change(path, false)
  const client = connect('http://fake', { key: 'k', fetch: model.fetch })
  const follow = (selector: string): LiveTopics => {
    const live = client.follow(selector)
    t.teardown(() => live.close())
    return live
  }
  return { model, client, follow }
}

t.test('each follower gets the changes that match its selector while others join, leave and fail', async (t) => {
  const limits = hurry(t)
  const random = seededRandom(t)
  let completed = 0
  for (let round = 0; round < 15; round++) {
    const model = new ChangesModel()
    for (const path of paths) if (random.oneIn(2)) model.change(path, false)
    model.delay = async () => {
      for (let turns = random.below(random.oneIn(4) ? 20 : 3); turns >= 0; turns--) await turn()
    }
    model.refuse = () => {
      if (random.oneIn(20)) throw new TypeError('fetch failed')
      return random.oneIn(20) ? 503 : undefined
    }
    const client = connect('http://fake', { key: 'k', fetch: model.fetch })
    const watchers: Watcher[] = []
    for (let step = 0; step < 150; step++) await happen(random, model, client, watchers)
    await until('everyone is up to date', async () => watchers.every(({ isCurrent }) => isCurrent) || undefined)
    for (const watcher of watchers) {
      t.strictSame(watcher.faults, [], watcher.selector)
      completed += watcher.completed
      await watcher.leave()
    }
    await until('every stream and poll has ended', async () => model.streams.size + limits.size === 0 || undefined)
  }
  t.ok(completed > 100, `${completed} times complete`)
})

t.test('followers that start together share one stream, and a later follower joins it', async (t) => {
  const { model, follow } = connected(t, 'a', 'b', 'b/x')
  const first = ['>a', '*b//', '>a'].map(follow)
  await Promise.all(first.map(({ ready }) => ready))
  t.strictSame(
    first.map(({ topics }) => [...topics.keys()]),
    [['a'], ['b', 'b/x'], ['a']],
  )
  t.strictSame(
    model.asked.map(({ selector, isStream }) => [selector, isStream]),
    [['#>a////*b//', true]],
  )
  const late = follow('>c')
  await late.ready
  const isShared = (): boolean => [...model.streams][0]?.body.selector === '#>a////*b//////>c'
  await until('one stream for all', async () => isShared() || undefined)
  t.equal(model.streams.size, 1)
  model.change('c', false)
  model.change('a', true)
  const areShown = (): boolean => late.topics.size === 1 && first.every(({ topics }) => !topics.has('a'))
  await until('the changes', async () => areShown() || undefined)
  const apart = follow('*(a|b)')
  await apart.ready
  t.equal(model.streams.size, 2, 'a selector that only the service can match has its own stream')
  for (const live of [...first, late, apart]) live.close()
  await until('no stream without a follower', async () => model.streams.size === 0 || undefined)
})

t.test('an iteration that stops during a shared walk has no position, and the next one starts over', async (t) => {
  const { client, follow } = connected(t, ...paths)
  follow('?a//')
  const changes = client.changes('*.*')
  const kinds: string[] = []
  for await (const { kind } of changes) if (kinds.push(kind) === 5) break
  t.equal(changes.next, undefined)
  for await (const { kind } of changes) if (kinds.push(kind) && kind === 'complete') break
  t.strictSame(kinds.slice(5), ['restarted', ...paths.map(() => 'topic'), 'complete'])
  t.type(changes.next, 'string')
})

t.test('selectors that are rejected when combined are followed separately', async (t) => {
  const { model, client, follow } = connected(t, 'a')
  const good = follow('a')
  const bad = client.follow('x'.repeat(2000))
  await t.rejects(bad.ready, { name: 'TopicdError', code: 'invalid_parameter' })
  await good.ready
  t.strictSame([...good.topics.keys()], ['a'])
  t.match(model.asked[0], { selector: /^#a\/{4}x/ })
})

t.test('a follower that takes no changes delays no other follower and builds up no backlog', async (t) => {
  const { model, client, follow } = connected(t)
  const slow = client.changes('>a')[Symbol.asyncIterator]()
  const live = follow('>b')
  t.match(await slow.next(), { value: { kind: 'complete' } })
  for (let i = 0; i < 200; i++) {
    model.change('a', false)
    model.change('b', false)
    await until('the other', async () => live.topics.get('b')?.value === model.tree.get('b') || undefined)
  }
  let shown = 0
  for (let value: unknown; value !== model.tree.get('a'); shown++) {
    const { value: change } = await slow.next()
    if (change?.kind === 'topic') value = change.item.value
  }
  t.ok(shown < 150, `${shown} of 400 pages waited`)
  await slow.return(undefined)
})
