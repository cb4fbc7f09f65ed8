/**
 * The writer's end of connections: its handling of clients that send garbage, belong to another build or disconnect, and its notices to
 * clients that watch the log.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ByteReader, ByteWriter } from '../../dist/base/bytes.js'
import { StoreError } from '../../dist/store/errors.js'
import { openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import type { WriteOperation } from '../../dist/store/topics.js'
import { frameHeadBytes, readFrames } from '../../dist/store/writer/frames.js'
import { Receipts } from '../../dist/store/writer/receipts.js'
import { protocolVersion, readNotice, readOutcome, writeOperations } from '../../dist/store/writer/wire.js'
import type { Path } from '../../dist/topics/path.js'
import { skippableTime } from '../support/skipped-time.js'
import { pathsIn } from '../support/stores/environment.js'
import { WriterHost } from '../support/stores/lmdb-writer.js'
import { creation, single } from '../support/stores/store.js'
import { eventually, turn, turns } from '../support/turns.js'

/** Longer than the writer remembers a disconnected client. */
const goneMs = 31_000

/** A client whose bytes the test writes itself. */
class RawClient {
  readonly socket: Socket
  /** The number of the last request that the writer has taken, as in its greeting; undefined before the greeting. */
  lastTaken: number | undefined
  readonly outcomes: (readonly [number, unknown])[] = []
  /** Number of notices that the log has grown. */
  notices = 0
  /** The topics of each commit that a notice named. */
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
      if (notice !== 'outcomes') this.records.push(pathsIn(notice.keys))
      else if (this.lastTaken === undefined) {
        t.equal(from.uint32(), protocolVersion)
        if (from.hasMore) this.lastTaken = from.double()
      }
      while (from.hasMore) {
        const { number, outcome } = readOutcome(from)
        this.outcomes.push([number, outcome instanceof StoreError ? outcome.kind : outcome])
      }
    }
    // The frame that rejects another version is shorter than any frame that is read here.
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
  'a change that is not JSON': framed((out) => {
    out.double(0)
    out.double(1)
    out.byte(0)
    out.byte(2)
    out.text('{"about":')
  }),
}

await t.test('a client that sends garbage is disconnected, and other clients are served', async (t) => {
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
    t.pass('an invalid client name')
  }
  const client = await RawClient.greeted(t, host.connect, 'client')
  t.equal(client.lastTaken, 1, 'the writer counts the garbled request as taken')
  client.socket.write(requests(2, set('n')))
  const [refused, ...others] = await client.answers(2)
  t.match(refused, [1, { message: 'unknown request kind 77' }])
  t.strictSame(others, [[2, ['updated']]], 'the client may reconnect')
})

await t.test('a client of another build is sent the protocol version and disconnected', async (t) => {
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

/** The names of the clients whose receipts are stored. */
async function storedClients(host: WriterHost): Promise<string[]> {
  await host.drain()
  const environment = openEnvironment(host.directory)
  const names = [...environment.receipts.getRange({})].map(({ key }) => key)
  await environment.root.close()
  await host.start()
  return names.sort()
}

await t.test('only the receipts of disconnected clients are removed, after a delay', async (t) => {
  const time = skippableTime(t)
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const open = (name: string) => RawClient.greeted(t, host.connect, name)
  const [stays, goes] = [await open('stays'), await open('goes')]
  for (const client of [stays, goes]) client.socket.write(requests(1, set('a')))
  await Promise.all([stays.answers(1), goes.answers(1)])
  const leave = async ({ socket }: RawClient): Promise<void> => {
    const { size } = host.sockets
    socket.destroy()
    await eventually(() => host.sockets.size < size)
  }
  await leave(goes)
  time.pass(goneMs / 2)
  await turn()
  const back = await open('goes')
  t.equal(back.lastTaken, 1, 'the receipts are not removed immediately')
  await leave(back)
  time.pass(goneMs)
  await turns(2)
  t.strictSame(await storedClients(host), ['stays'])
  // The next writer has the receipts now.
  time.pass(goneMs)
  await turns(2)
  t.strictSame(await storedClients(host), [])
})

await t.test('a client that watches the log gets a notice of each commit with changes', async (t) => {
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
  t.strictSame(await watcher.answers(1), [[1, ['updated']]], 'a watching client can also write')
  await eventually(() => watcher.notices === 3)
  watcher.socket.write(watching(false, 2, set('m')))
  await watcher.answers(2)
  t.equal(watcher.notices, 3, 'a write without a change, and a write while not watching, are not announced')
  t.strictSame(watcher.records, [['n'], ['n']], 'the notice of a commit names its topics')
  t.equal(other.notices, 0)
})

await t.test('a notice of a commit omits the log record for clients of 1.0.0 and for large commits', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const former = await RawClient.greeted(t, host.connect, 'former', 0, false)
  const client = await RawClient.greeted(t, host.connect, 'client')
  for (const each of [former, client]) each.socket.write(watching(true, 1))
  await eventually(() => former.notices === 1 && client.notices === 1)
  // With its length prefix, each key takes 8 bytes.
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

await t.test('a client that reads nothing is soon sent notices without records', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const client = await RawClient.greeted(t, host.connect, 'client')
  client.socket.write(watching(true, 1))
  await eventually(() => client.notices === 1)
  client.socket.pause()
  const paths = Array.from({ length: 30 }, (_, i) => `${i}/${'x'.repeat(250)}`)
  const commits = 300
  for (let n = 0; n < commits; n++) await host.store.write(paths.map(set))
  t.equal(host.sockets.size, 1)
  for (const { writableLength } of host.sockets) t.ok(writableLength < 100_000, `${writableLength} bytes wait`)
  client.socket.resume()
  await eventually(() => client.notices === 1 + commits)
  t.ok(client.records.length > 0 && client.records.length < commits, `${client.records.length} records`)
})

await t.test('no outcome of a failed commit is sent to a client, not even a rejection', async (t) => {
  const reasons: Error[] = []
  // Without room, removals are still admitted, but a growing write in the same commit is refused.
  const host = await WriterHost.open(t, join(t.testdir(), 'db'), {
    diskFreeBytesMin: Number.MAX_SAFE_INTEGER,
    onBroken: (reason) => reasons.push(reason),
  })
  const client = await RawClient.greeted(t, host.connect, 'client')
  const conditional: WriteOperation = { ...removed('a'), constraint: { kind: 'no_value' } }
  client.socket.write(requests(1, removed('a'), conditional, set('full')))
  t.match(
    await client.answers(3),
    [
      [3, 'full'],
      [1, ['nothing_removed']],
      [2, {}],
    ],
    'a sound commit',
  )
  t.intercept(Receipts.prototype, 'put', {
    value: () => {
      throw new Error('planted')
    },
  })
  client.socket.write(requests(4, removed('a'), conditional, set('full')))
  await eventually(() => client.isClosed)
  t.match(reasons, [{ cause: { message: 'planted' } }])
  t.equal(client.outcomes.length, 3, 'no request of the failed commit is answered')
})
