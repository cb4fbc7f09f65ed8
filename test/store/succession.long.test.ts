/**
 * Writers that are replaced or die while requests are in flight. Each request is executed exactly once, and its outcome reports its effect.
 * SEED=… replays the timing.
 */
import type { Server, Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ByteWriter } from '../../dist/base/bytes.js'
import { connectToWriter, listenForWorkers } from '../../dist/cluster/control/directory-sockets.js'
import { commitDeadlineMs } from '../../dist/settings/limits.js'
import { StoreError } from '../../dist/store/errors.js'
import { type BatchResult, storedForms, type WriteOperation } from '../../dist/store/topics.js'
import { WriterLink } from '../../dist/store/writer/link.js'
import { protocolVersion } from '../../dist/store/writer/wire.js'
import type { Path } from '../../dist/topics/path.js'
import { type Random, seededRandom } from '../support/random.js'
import { joinSockets } from '../support/service/relay.js'
import { type SkippedTime, skippableTime } from '../support/skipped-time.js'
import { inside } from '../support/stores/environment.js'
import { WriterHost } from '../support/stores/lmdb-writer.js'
import { creation } from '../support/stores/store.js'
import { turn, turns } from '../support/turns.js'

const kindOf = (error: unknown): unknown => (error instanceof StoreError ? error.kind : error)

/** The outcome of a write, or the kind of its error. */
const outcomeOf = (written: Promise<BatchResult>): Promise<unknown> =>
  written.then((result) => ('refusal' in result ? result.refusal : result), kindOf)

/** Sets the next value of a counter, starting with 0; refused if it is executed twice or out of order. */
function counted(path: string, number: number): WriteOperation {
  const constraint =
    number === 0 ? ({ kind: 'no_topic' } as const) : ({ kind: 'value', text: Buffer.from(`${number - 1}`) } as const)
  return { kind: 'addAndSet', ...creation(path), valueText: Buffer.from(`${number}`), constraint }
}

const created = (path: string): WriteOperation => ({ kind: 'add', ...creation(path), valueText: undefined })
const removed = (path: string): WriteOperation => ({ kind: 'remove', path: path as Path, valueText: undefined })

/** Requests of a client that continue until `stop`; each of them can be executed only once. */
function keepWriting(t: Test, link: WriterLink, name: string, random: Random) {
  let stopped = false
  let count = 0
  let operations = 0
  let answered = 0
  const wrong: string[] = []
  const inFlight = new Set<Promise<void>>()
  const begin = (number: number): void => {
    const request = [counted(`counter/${name}`, number), created(`${name}/${number}`)]
    if (number % 7 === 6) request.push(removed(`${name}/${number - 3}`))
    const wanted = ['created', 'created', 'removed'].slice(0, request.length)
    if (number > 0) wanted[0] = 'updated'
    operations += request.length
    const written = outcomeOf(link.write(request)).then((outcome) => {
      answered++
      if (`${outcome}` !== `${wanted}`) wrong.push(`request ${number}: ${outcome}`)
    })
    inFlight.add(written)
    void written.then(() => inFlight.delete(written))
  }
  const going = (async () => {
    while (!stopped) {
      for (let left = random.below(6); left > 0 && inFlight.size < 100; left--) begin(count++)
      await turn()
    }
    await Promise.all(inFlight)
  })()
  return {
    count: () => count,
    operations: () => operations,
    /** Resolves once all requests so far and some later ones are answered, so that no request sees three writers end. */
    async caughtUp() {
      const before = count + 20
      while (answered < before) await turn()
    },
    async stop() {
      stopped = true
      await going
      t.strictSame(wrong, [], `each of ${count} requests of ${name} was executed once, in order`)
    },
  }
}

for (const end of ['drain', 'die'] as const) {
  await t.test(`requests in flight are executed exactly once when their writer must ${end}`, async (t) => {
    const random = seededRandom(t)
    const host = await WriterHost.open(t, join(t.testdir(), 'db'))
    const names = ['a', 'b', 'c']
    const clients = names.map((name) => keepWriting(t, host.link(t), name, random))
    for (let round = 0; round < 7; round++) {
      for (const client of clients) await client.caughtUp()
      await turns(random.below(8))
      await host[end]()
      await turns(random.below(20))
      await host.start()
    }
    for (const client of clients) await client.stop()
    for (const [i, name] of names.entries()) {
      const value = await host.store.readTopic(`counter/${name}` as Path, storedForms.json)
      t.match(Buffer.from(value as Uint8Array).toString(), `"value":${(clients[i]?.count() ?? 0) - 1}}`)
    }
  })
}

/** A proxy between a link and the writer that can drop the writer's output. */
class AnswerProxy {
  dropsAnswers = false
  #ends: Socket[] = []
  #onDropped: (() => void)[] = []

  private constructor(
    readonly directory: string,
    readonly server: Server,
  ) {}

  static async open(t: Test, host: WriterHost, directory: string): Promise<AnswerProxy> {
    const server = await listenForWorkers(directory, (client) => proxy.#serve(client, host.connect()))
    const proxy = new AnswerProxy(directory, server)
    t.teardown(() => {
      server.close()
      proxy.cut()
    })
    return proxy
  }

  readonly connect = (): Socket => connectToWriter(this.directory)

  /** Closes the connections; the link then opens a new one, which drops nothing. */
  cut(): void {
    this.dropsAnswers = false
    for (const socket of this.#ends.splice(0)) socket.destroy()
  }

  /** Resolves when the next bytes of the writer have been dropped. */
  dropped(): Promise<void> {
    return new Promise((resolve) => this.#onDropped.push(resolve))
  }

  #serve(client: Socket, writer: Socket): void {
    this.#ends.push(client, writer)
    joinSockets({ client, service: writer }, (bytes, to, ends) => {
      if (to === 'service' || !this.dropsAnswers) return void ends[to].write(bytes)
      for (const resolve of this.#onDropped.splice(0)) resolve()
    })
  }
}

for (const successor of ['the same writer', 'the next writer, after a drain', 'the next writer, after a death']) {
  await t.test(`a committed request that got no response gets its outcome from ${successor}`, async (t) => {
    const host = await WriterHost.open(t, join(t.testdir({ proxy: {} }), 'db'))
    const proxy = await AnswerProxy.open(t, host, join(t.testdirName, 'proxy'))
    const link = host.link(t, proxy.connect)
    t.strictSame(await link.write([counted('n', 0)]), ['created'])
    for (let round = 1; round < 6; round++) {
      proxy.dropsAnswers = true
      const dropped = proxy.dropped()
      const written = [
        outcomeOf(link.write([counted('n', 2 * round - 1)])),
        outcomeOf(link.write([created('a')])),
        outcomeOf(link.write([removed('a')])),
        outcomeOf(link.write([counted('missing', 1)])),
      ]
      const key = { name: `k${round}`, tokenHash: `${round}`, allow: [], under: [], madeMs: 0 }
      const changed = link.change({ about: 'addKey', record: key })
      await dropped
      t.equal(await Promise.race([...written, changed, turns(2)]), undefined, 'no request is answered')
      // This request does not arrive before the connection ends.
      const later = outcomeOf(link.write([counted('n', 2 * round)]))
      if (successor.endsWith('drain')) await host.drain()
      if (successor.endsWith('death')) await host.die()
      proxy.cut()
      if (successor !== 'the same writer') await host.start()
      t.strictSame(await Promise.all(written), [['updated'], ['created'], ['removed'], 'unsatisfied_constraint'])
      t.equal(await changed, true)
      t.strictSame(await later, ['updated'])
    }
  })
}

await t.test('unreadable receipts make the outcomes of their client unknown and stop no other request', async (t) => {
  const reports: Error[] = []
  const host = await WriterHost.open(t, join(t.testdir({ proxy: {} }), 'db'), {
    onUnreadable: (reason) => reports.push(reason),
  })
  const proxy = await AnswerProxy.open(t, host, join(t.testdirName, 'proxy'))
  const link = host.link(t, proxy.connect)
  t.strictSame(await link.write([counted('n', 0)]), ['created'])
  proxy.dropsAnswers = true
  const dropped = proxy.dropped()
  const committed = outcomeOf(link.write([created('a')]))
  await dropped
  const later = outcomeOf(link.write([created('b')]))
  await host.die()
  await inside(host.directory, ({ receipts }) => {
    for (const { key, value } of [...receipts.getRange({})]) receipts.putSync(key, value.subarray(0, value.length - 1))
    receipts.putSync('gone', Buffer.from('?'))
  })
  proxy.cut()
  await host.start()
  t.strictSame(await Promise.all([committed, later]), ['unknown_outcome', 'unknown_outcome'])
  t.strictSame(await link.write([counted('n', 1)]), ['updated'], 'later requests are executed')
  t.equal(typeof (await host.store.readTopic('a' as Path, storedForms.json)), 'object')
  t.equal(await host.store.readTopic('b' as Path, storedForms.json), 'no_such_topic', 'no unknown request is repeated')
  t.match(
    reports.map(({ message }) => message),
    [/^the receipts of the client \w{16} cannot be read$/, 'the receipts of the client gone cannot be read'],
  )
})

for (const lives of [true, false]) {
  const what = lives ? 'while the writer lives' : 'while writers die'
  await t.test(`connections that close at random moments ${what} lose and repeat no request`, async (t) => {
    const random = seededRandom(t)
    const host = await WriterHost.open(t, join(t.testdir({ proxy: {} }), 'db'))
    const proxy = await AnswerProxy.open(t, host, join(t.testdirName, 'proxy'))
    const client = keepWriting(t, host.link(t, proxy.connect), 'a', random)
    const other = keepWriting(t, host.link(t), 'b', random)
    for (let round = 0; round < 10; round++) {
      await client.caughtUp()
      await other.caughtUp()
      if (random.oneIn(2)) proxy.dropsAnswers = true
      await turns(random.below(10))
      if (random.oneIn(3)) {
        host.writer.pauseWrites()
        while (host.store.commits?.inFlight === 0) await turn()
      }
      if (!lives && random.oneIn(2)) await host.die()
      proxy.cut()
      await turns(random.below(100))
      if (lives || host.isRunning) host.writer.resumeWrites()
      else await host.start()
    }
    await client.stop()
    await other.stop()
    t.equal(host.carriedOut, client.operations() + other.operations(), 'no operation was executed twice')
  })
}

await t.test('a client reports a writer with another protocol version', async (t) => {
  const server = await listenForWorkers(t.testdir(), (socket) => {
    const out = new ByteWriter()
    out.uint32(Uint32Array.BYTES_PER_ELEMENT)
    out.uint32(protocolVersion + 1)
    socket.end(out.take())
  })
  t.teardown(() => server.close())
  const reason = await new Promise<Error>((resolve) => {
    const link = new WriterLink(() => connectToWriter(t.testdirName), resolve)
    t.teardown(() => link.close())
  })
  t.match(reason.message, `the writer uses version ${protocolVersion + 1} of the internal protocol`)
})

/** Passes time in steps, as for a running process whose intervals fire on time. */
function passSteadily(time: SkippedTime, ms: number): void {
  const stepMs = 500
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) time.pass(Math.min(stepMs, ms - passedMs))
}

await t.test('requests without a writer fail at the deadline and are not executed', async (t) => {
  const time = skippableTime(t)
  const directory = t.testdir()
  const link = new WriterLink(
    () => connectToWriter(directory),
    (reason) => t.fail(reason.message),
  )
  const given = outcomeOf(link.write([counted('n', 0)]))
  const second = outcomeOf(link.write([counted('n', 1)]))
  await turns(2)
  passSteadily(time, commitDeadlineMs / 2)
  const later = outcomeOf(link.write([counted('n', 2)]))
  await turns(2)
  t.equal(await Promise.race([given, second, later, turns(2)]), undefined, 'no request fails before the deadline')
  passSteadily(time, commitDeadlineMs / 2 + 1000)
  t.equal(await given, 'unavailable')
  t.equal(await second, 'unavailable')
  t.equal(await Promise.race([later, turns(2)]), undefined, 'the later request still waits')
  const host = await WriterHost.open(t, directory)
  t.equal(await later, 'unsatisfied_constraint', 'the later request is executed; the others are not')
  t.equal(await host.store.readTopic('n' as Path, storedForms.json), 'no_such_topic')
  await link.close()
})
