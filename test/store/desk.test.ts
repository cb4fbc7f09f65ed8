/**
 * The writer's end of connections: what it does with clients that send garbage, are of another build, come back, or are
 * gone, with writes that the disk has no room for, and after a failed commit.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { now } from '../../dist/base/clock.js'
import { connectToWriter, listenForWorkers } from '../../dist/cluster/control/writer-socket.js'
import { StoreError } from '../../dist/store/errors.js'
import { type LoggedRecord, loggedKeys } from '../../dist/store/lmdb/environment/change-record.js'
import { openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { ByteReader, ByteWriter } from '../../dist/store/lmdb/write/bytes.js'
import { Desk } from '../../dist/store/lmdb/write/desk.js'
import { frameHeadBytes, readFrames } from '../../dist/store/lmdb/write/frames.js'
import { Receipts } from '../../dist/store/lmdb/write/receipts.js'
import { protocolVersion, readNotice, readOutcome, writeOperations } from '../../dist/store/lmdb/write/wire.js'
import { createWriting } from '../../dist/store/lmdb/write/writes.js'
import { storedForms, type WriteOperation } from '../../dist/store/topics.js'
import { decodeKey } from '../../dist/topics/key.js'
import type { Path } from '../../dist/topics/path.js'
import { skippableTime } from '../support/skipped-time.js'
import { WriterHost } from '../support/stores/lmdb-writer.js'
import { creation, single } from '../support/stores/store.js'
import { eventually, turn, turns } from '../support/turns.js'

/** Longer than the writer remembers a client that is gone. */
const goneMs = 31_000

/** A client that a test writes byte by byte. */
class RawClient {
  readonly socket: Socket
  /** What the writer said it has taken, once it has. */
  lastTaken: number | undefined
  readonly outcomes: (readonly [number, unknown])[] = []
  /** How often the writer said that the log has grown. */
  notices = 0
  /** The topics of the commits that it named. */
  readonly records: string[][] = []
  isClosed = false

  constructor(t: Test, connect: () => Socket) {
    this.socket = connect()
    this.socket.on('error', () => {})
    this.socket.on('close', () => (this.isClosed = true))
    t.teardown(() => this.socket.destroy())
    const take = (frame: Buffer): void => {
      const from = new ByteReader(frame)
      const notice = readNotice(from)
      if (notice !== 'outcomes') this.notices++
      if (notice === undefined) return
      if (notice !== 'outcomes') this.records.push([...loggedKeys(notice.value)].map((key) => decodeKey(key)))
      else if (this.lastTaken === undefined) {
        t.equal(from.uint32(), protocolVersion)
        if (from.hasMore) this.lastTaken = from.double()
      }
      while (from.hasMore) {
        const { number, outcome } = readOutcome(from)
        this.outcomes.push([number, outcome instanceof StoreError ? outcome.kind : outcome])
      }
    }
    // The frame that refuses another version is shorter than any that is read here.
    readFrames(this.socket, take, () => {})
  }

  /** Connects, and waits for the greeting. */
  static async greeted(
    t: Test,
    connect: () => Socket,
    name: string,
    answered = 0,
    takesRecords = true,
  ): Promise<RawClient> {
    const client = new RawClient(t, connect)
    client.socket.write(hello(name, answered, protocolVersion, takesRecords))
    await eventually(() => client.lastTaken !== undefined)
    return client
  }

  async answers(count: number): Promise<readonly (readonly [number, unknown])[]> {
    await eventually(() => this.outcomes.length >= count)
    return this.outcomes
  }
}

function framed(write: (out: ByteWriter) => void): Buffer {
  const out = new ByteWriter()
  out.uint32(0)
  write(out)
  const frame = out.take()
  frame.writeUInt32LE(frame.length - frameHeadBytes)
  return frame
}

const hello = (name: string, answered = 0, version = protocolVersion, takesRecords = true): Buffer =>
  framed((out) => {
    out.uint32(version)
    out.text(name)
    out.double(answered)
    if (takesRecords) out.byte(1)
  })

const requests = (first: number, ...operations: WriteOperation[]): Buffer => watching(false, first, ...operations)

const watching = (isWatching: boolean, first: number, ...operations: WriteOperation[]): Buffer =>
  framed((out) => {
    out.double(0)
    out.double(first)
    out.byte(isWatching ? 1 : 0)
    for (const operation of operations) writeOperations(out, [operation], true)
  })

const garbled = (first: number): Buffer =>
  framed((out) => {
    out.double(0)
    out.double(first)
    out.byte(0)
    out.byte(77)
  })

const created = (path: string): WriteOperation => ({ kind: 'add', ...creation(path), valueText: undefined })

const set = (path: string): WriteOperation => ({
  kind: 'addAndSet',
  ...creation(path),
  valueText: Buffer.from('1'),
})

const removed = (path: string): WriteOperation => ({ kind: 'remove', path: path as Path, valueText: undefined })

const garbage: Readonly<Record<string, Buffer>> = {
  'a request of an unknown kind': garbled(1),
  'an empty frame': Buffer.alloc(frameHeadBytes),
  'a frame that ends too early': framed((out) => out.double(0)),
  'a request that ends too early': framed((out) => {
    out.double(0)
    out.double(1)
    out.byte(0)
    out.byte(1)
    out.uint32(1000)
  }),
  'a frame that claims 4 GiB': Buffer.alloc(frameHeadBytes, 0xff),
  'a change that is no JSON': framed((out) => {
    out.double(0)
    out.double(1)
    out.byte(0)
    out.byte(2)
    out.text('{"about":')
  }),
}

await t.test('a client that sends garbage is disconnected, and the others go on', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const link = host.link(t)
  t.equal(await single.addAndSet(link, creation('n'), Buffer.from('1')), 'created')
  for (const [what, bytes] of Object.entries(garbage)) {
    const client = await RawClient.greeted(t, host.connect, 'client')
    client.socket.write(Buffer.concat([bytes, bytes]))
    await eventually(() => client.isClosed)
    t.pass(`${what} after the greeting`)
    const first = new RawClient(t, host.connect)
    first.socket.write(bytes)
    await eventually(() => first.isClosed)
    t.pass(`${what} instead of a greeting`)
    t.equal(await single.addAndSet(link, creation('n'), Buffer.from('1')), 'updated')
  }
  for (const name of ['', 'x'.repeat(2000), 'a b']) {
    const client = new RawClient(t, host.connect)
    client.socket.write(Buffer.concat([hello(name), requests(1, set('n'))]))
    await eventually(() => client.isClosed)
    t.pass('a name that no client has')
  }
  const client = await RawClient.greeted(t, host.connect, 'client')
  t.equal(client.lastTaken, 1, 'of a request that has a number, it is told')
  client.socket.write(requests(2, set('n')))
  const [refused, ...others] = await client.answers(2)
  t.match(refused, [1, { message: 'a request has the unknown kind 77' }])
  t.strictSame(others, [[2, ['updated']]], 'and it may come back')
})

await t.test('of what is sent with garbage, only what comes before it is carried out', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const client = await RawClient.greeted(t, host.connect, 'client')
  client.socket.write(Buffer.concat([requests(1, created('a')), garbled(2), requests(3, created('c'))]))
  await eventually(() => client.isClosed)
  const again = await RawClient.greeted(t, host.connect, 'client')
  t.equal(again.lastTaken, 2, 'so that the others are sent again')
  const answers = await again.answers(2)
  t.match(
    answers.toSorted(([a], [b]) => a - b),
    [
      [1, ['created']],
      [2, { message: 'a request has the unknown kind 77' }],
    ],
  )
  again.socket.write(requests(3, created('b'), created('c')))
  t.strictSame((await again.answers(4)).slice(2), [
    [3, ['created']],
    [4, ['created']],
  ])
})

await t.test('a request that arrives byte by byte is executed once it is whole', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const client = await RawClient.greeted(t, host.connect, 'client')
  const bytes = Buffer.concat([requests(1, created('a')), requests(2, created('b'))])
  for (const byte of bytes.subarray(0, -1)) {
    client.socket.write(Buffer.from([byte]))
    await turn()
  }
  t.strictSame(await client.answers(1), [[1, ['created']]])
  client.socket.write(bytes.subarray(-1))
  t.strictSame((await client.answers(2))[1], [2, ['created']])
})

await t.test('a request that was taken is not taken again', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const client = await RawClient.greeted(t, host.connect, 'client')
  client.socket.write(requests(1, created('a'), created('b')))
  await client.answers(2)
  client.socket.write(requests(2, removed('b')))
  await eventually(() => client.isClosed)
  t.not(await host.store.readTopic('b' as Path, storedForms.json), 'no_such_topic')
})

await t.test('a client of another build is told the version, and disconnected', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const socket = host.connect()
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.write(hello('client', 0, protocolVersion + 1))
  await once(socket, 'close')
  t.strictSame(
    Buffer.concat(chunks),
    framed((out) => out.uint32(protocolVersion)),
  )
})

await t.test('a client that comes back has one connection, and gets the answers there', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const first = await RawClient.greeted(t, host.connect, 'client')
  host.writer.pauseWrites()
  first.socket.write(requests(1, created('a'), created('b')))
  await eventually(() => host.store.commits?.inFlight === 2)
  const second = await RawClient.greeted(t, host.connect, 'client')
  t.equal(second.lastTaken, 2)
  await eventually(() => first.isClosed)
  host.writer.resumeWrites()
  t.strictSame(await second.answers(2), [
    [1, ['created']],
    [2, ['created']],
  ])
  t.strictSame(first.outcomes, [])
  const third = await RawClient.greeted(t, host.connect, 'client', 1)
  t.strictSame(
    await third.answers(2),
    [
      [1, ['created']],
      [2, ['created']],
    ],
    'what is not acknowledged as a whole comes with the greeting',
  )
  const fourth = await RawClient.greeted(t, host.connect, 'client', 2)
  fourth.socket.write(requests(3, removed('a')))
  t.strictSame(await fourth.answers(1), [[3, ['removed']]], 'what is acknowledged does not')
})

/** The names of the clients whose receipts are stored. */
async function storedClients(host: WriterHost): Promise<string[]> {
  await host.drain()
  const environment = openEnvironment(host.directory)
  const names = [...environment.receipts.getRange({})].map(({ key }) => key)
  await environment.root.close()
  await host.start()
  return names.sort()
}

await t.test('the receipts of a client that is gone are removed after a while, and only those', async (t) => {
  const time = skippableTime(t)
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const [stays, goes] = [
    await RawClient.greeted(t, host.connect, 'stays'),
    await RawClient.greeted(t, host.connect, 'goes'),
  ]
  stays.socket.write(requests(1, created('a')))
  goes.socket.write(requests(1, created('b')))
  await Promise.all([stays.answers(1), goes.answers(1)])
  goes.socket.destroy()
  await eventually(() => host.sockets.size === 1)
  time.pass(goneMs / 2)
  await turn()
  const back = await RawClient.greeted(t, host.connect, 'goes')
  t.equal(back.lastTaken, 1, 'not at once')
  back.socket.destroy()
  await eventually(() => host.sockets.size === 1)
  time.pass(goneMs / 2)
  await turn()
  t.equal((await RawClient.greeted(t, host.connect, 'goes')).lastTaken, 1, 'the time begins with the last connection')
  ;[...host.sockets].at(-1)?.destroy()
  await eventually(() => host.sockets.size === 1)
  time.pass(goneMs)
  await turn()
  await turn()
  t.strictSame(await storedClients(host), ['stays'])

  await t.test('also those that an earlier writer has left', async (t) => {
    time.pass(goneMs / 2)
    await turn()
    t.strictSame(await storedClients(host), ['stays'], 'not at once')
    time.pass(goneMs)
    await turn()
    await turn()
    t.strictSame(await storedClients(host), [])
  })
})

await t.test('a client that comes back while its receipts are about to be removed keeps them', async (t) => {
  const time = skippableTime(t)
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const first = await RawClient.greeted(t, host.connect, 'client')
  first.socket.write(requests(1, created('a')))
  await first.answers(1)
  first.socket.destroy()
  await eventually(() => host.sockets.size === 0)
  host.writer.pauseWrites()
  time.pass(goneMs)
  const second = await RawClient.greeted(t, host.connect, 'client')
  t.equal(second.lastTaken, 1)
  host.writer.resumeWrites()
  second.socket.write(requests(2, removed('a')))
  await second.answers(2)
  const third = await RawClient.greeted(t, host.connect, 'client')
  t.equal(third.lastTaken, 2)
  t.strictSame(await third.answers(2), [
    [1, ['created']],
    [2, ['removed']],
  ])
})

await t.test(
  'after a failed commit no outcome leaves the writer, and every request can be sent to the next',
  async (t) => {
    const environment = openEnvironment(t.testdir({ db: {} }))
    const receipts = new Receipts(environment.receipts)
    let fails = false
    const hooks = {
      end() {
        receipts.put()
        if (fails) throw new Error('EIO')
      },
      committed: (record: LoggedRecord | undefined) => desk.answerAll(record),
    }
    const broken: Error[] = []
    // Some writes of the same frame are refused, which are answered apart from the transaction.
    const room = {
      begin: () => {},
      admit: ({ grows }: { grows: boolean }) => (grows ? 'full' : 'admitted'),
    }
    const writing = createWriting(environment, now, (reason) => broken.push(reason), room as never, hooks)
    const desk: Desk = new Desk({ commits: writing.commits, receipts, taskOf: writing.taskOf, onUnreadable() {} })
    const server = await listenForWorkers(t.testdirName, (socket) => desk.accept(socket))
    t.teardown(async () => {
      server.close()
      await desk.stop()
      await environment.root.close()
    })
    const connect = (): Socket => connectToWriter(t.testdirName)
    const client = await RawClient.greeted(t, connect, 'client')
    client.socket.write(requests(1, removed('a')))
    t.strictSame(await client.answers(1), [[1, ['nothing_removed']]])
    fails = true
    client.socket.write(requests(2, removed('a'), set('b'), removed('c')))
    await eventually(() => broken.length > 0)
    await turns(20)
    t.strictSame(client.outcomes.slice(1), [], 'nothing is sent')
    const again = new RawClient(t, connect)
    again.socket.write(hello('client', 1))
    await turns(20)
    t.strictSame(again.outcomes, [], 'nor with a greeting')
  },
)

await t.test('a client that watches the log gets a notice of each commit that changed a topic', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const watcher = await RawClient.greeted(t, host.connect, 'watcher')
  const other = await RawClient.greeted(t, host.connect, 'other')
  watcher.socket.write(watching(true, 1))
  await eventually(() => watcher.notices === 1)
  other.socket.write(requests(1, set('n')))
  await other.answers(1)
  await eventually(() => watcher.notices === 2)
  other.socket.write(requests(2, removed('nothing')))
  await other.answers(2)
  watcher.socket.write(watching(true, 1, set('n')))
  t.strictSame(await watcher.answers(1), [[1, ['updated']]], 'it writes as any other')
  await eventually(() => watcher.notices === 3)
  watcher.socket.write(watching(false, 2, set('m')))
  await watcher.answers(2)
  t.equal(watcher.notices, 3, 'what changes nothing, and what it does not watch, is not announced')
  t.strictSame(watcher.records, [['n'], ['n']], 'that of a commit names its topics')
  t.equal(other.notices, 0)
})

await t.test('a notice has no record for a client of version 1.0.0, nor when it is long', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const former = await RawClient.greeted(t, host.connect, 'former', 0, false)
  const client = await RawClient.greeted(t, host.connect, 'client')
  for (const each of [former, client]) each.socket.write(watching(true, 1))
  await eventually(() => former.notices === 1 && client.notices === 1)
  // With its length, each key has 8 bytes.
  const keysMax = 1024
  const named = Array.from({ length: keysMax + 1 }, (_, i) => `n/${1000 + i}`)
  const write = (...names: string[]): Promise<unknown> =>
    host.store.write(names.map((name): WriteOperation => ({ ...set(name) })))
  await write(...named.slice(1))
  await eventually(() => client.notices === 2)
  t.strictSame(client.records, [named.slice(1)], '8 KiB')
  await write(...named)
  await eventually(() => former.notices === 3 && client.notices === 3)
  t.equal(client.records.length, 1, 'more than 8 KiB')
  t.strictSame(former.records, [])
})

await t.test('a client that reads nothing is sent no more records', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const client = await RawClient.greeted(t, host.connect, 'client')
  client.socket.write(watching(true, 1))
  await eventually(() => client.notices === 1)
  client.socket.pause()
  const paths = Array.from({ length: 30 }, (_, i) => `${i}/${'x'.repeat(250)}`)
  const commits = 300
  for (let n = 0; n < commits; n++) await host.store.write(paths.map(set))
  t.equal(host.sockets.size, 1)
  for (const { writableLength } of host.sockets) t.ok(writableLength < 100_000, `${writableLength} bytes wait for it`)
  client.socket.resume()
  await eventually(() => client.notices === 1 + commits)
  t.ok(client.records.length > 0 && client.records.length < commits, `${client.records.length} records`)
})
