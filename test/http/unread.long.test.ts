/**
 * The connections that are closed if too much data is unread, and when, with simulated connections and clocks. Clients that
 * read nothing are disconnected before clients that read, regardless of which started first.
 */

import type { HttpResponse } from 'uWebSockets.js'
import { strict as assert } from 'node:assert'
import t, { type Test } from 'tap'
import { Closing, type Receiver, unreadMsCrowdedMax, unreadMsMax } from '../../dist/http/closing.js'
import { Responses } from '../../dist/http/response.js'
import { emptyAnswerRoom } from '../../dist/http/unread.js'
import { answerBytesAlwaysMax, answerBytesWaitingMax, pageBytesMaxMax } from '../../dist/settings/limits.js'
import { seededRandom } from '../support/random.js'
import { eventually, turn } from '../support/turns.js'

const mebibyte = 1024 * 1024

/** Within a cork, the library accepts a piece of up to this size even if the kernel has no room for it. */
const corkBytes = 16 * 1024

/** A connection of the library, and a kernel that takes as many bytes as its client makes room for. */
class Connection {
  room = 0
  isClosed = false
  isDone = false
  /** Whether the response was complete while the kernel still had to take more than one byte, which may be lost. */
  isEarly = false
  #isCorked = false
  /** Bytes that the library has accepted but the kernel has not. */
  #held = Buffer.alloc(0)
  readonly #pieces: Buffer[] = []
  #offset = 0
  #onWritable: (offset: number) => boolean = () => true
  #onAborted = (): void => {}

  /** Simulates a client that reads: the kernel has room again and, if `isNoticed`, reports it. */
  read(bytes: number, isNoticed = true): void {
    this.room += bytes
    this.#flush()
    if (isNoticed && !this.isDone && !this.isClosed) this.#onWritable(this.#offset)
  }

  get received(): Buffer {
    return Buffer.concat(this.#pieces)
  }

  readonly #tryEnd = (bytes: Uint8Array, total: number): [boolean, boolean] => {
    if (this.isDone || this.isClosed) throw new Error('the response is no longer valid')
    this.#flush()
    if (this.#held.length > 0) return [false, false]
    const isHeld = this.#isCorked && bytes.length <= corkBytes
    const taken = isHeld ? bytes.length : Math.min(this.room, bytes.length)
    this.#held = Buffer.from(bytes.subarray(0, taken))
    if (!isHeld) this.#flush()
    this.#offset += taken
    this.isDone = this.#offset === total
    return [taken === bytes.length, this.isDone]
  }

  readonly #cork = (work: () => void): void => {
    this.#isCorked = true
    work()
    this.#isCorked = false
    this.#flush()
    if (this.isDone && this.#held.length > 1) this.isEarly = true
  }

  #flush(): void {
    const taken = Math.min(this.room, this.#held.length)
    this.#pieces.push(this.#held.subarray(0, taken))
    this.#held = this.#held.subarray(taken)
    this.room -= taken
  }

  readonly receiver = {
    closing: false,
    bodyEnded: true,
    res: {
      writeStatus: () => {},
      writeHeader: () => {},
      cork: this.#cork,
      tryEnd: this.#tryEnd,
      getWriteOffset: () => this.#offset,
      onWritable: (handler: (offset: number) => boolean) => (this.#onWritable = handler),
      onAborted: (handler: () => void) => (this.#onAborted = handler),
      close: () => {
        this.isClosed = true
        this.#onAborted()
      },
    } as unknown as HttpResponse,
  } as Receiver
}

function answer(bytes: number, fill = 0) {
  return { status: 200, body: Buffer.alloc(bytes, fill) }
}

/** Sends responses of these sizes, none of which is read. */
function unreadAnswers(closing: Closing, ...sizes: number[]): Connection[] {
  const responses = new Responses(closing)
  return sizes.map((size) => {
    const connection = new Connection()
    responses.send(connection.receiver, answer(size))
    return connection
  })
}

/** Sets the time, in ms. */
function simulateTime(t: Test): (ms: number) => void {
  let nowMs = 0
  t.intercept(performance, 'now', { value: () => nowMs })
  return (ms) => (nowMs = ms)
}

const third = Math.floor(answerBytesWaitingMax / 3)

t.test('a response that cannot be rejected closes the connection whose client has not read for longest', async (t) => {
  const closing = new Closing(emptyAnswerRoom(), () => {})
  const connections = unreadAnswers(closing, third, third, third)
  const [reading, , stalled] = connections as [Connection, Connection, Connection]
  const closed = () => connections.map(({ isClosed }) => isClosed)
  reading.read(mebibyte)
  unreadAnswers(closing, third)
  t.same(closed(), [false, true, false], 'the one that started first stays open')

  stalled.read(1)
  unreadAnswers(closing, third)
  t.same(closed(), [false, true, true], 'reading a single byte does not help')
})

t.test('bytes that clients read make room for further responses', async (t) => {
  const closing = new Closing(emptyAnswerRoom(), () => {})
  const responses = new Responses(closing)
  const [connection] = unreadAnswers(closing, answerBytesWaitingMax) as [Connection]
  t.equal(closing.rests.bytesFree, 0)
  t.equal(responses.hasRoom(answer(pageBytesMaxMax)), false, 'a page must be rejected')
  t.equal(responses.hasRoom(answer(answerBytesAlwaysMax)), true, 'a small response is always accepted')
  connection.read(answerBytesWaitingMax / 2)
  t.equal(responses.hasRoom(answer(pageBytesMaxMax)), true)
  connection.read(answerBytesWaitingMax / 2)
  t.equal(closing.rests.bytesFree, answerBytesWaitingMax)
  t.ok(connection.isDone && !connection.isClosed)
})

for (const [title, size, msMax] of [
  ['little', 8 * mebibyte, unreadMsMax],
  ['much', third, unreadMsCrowdedMax],
] as const) {
  t.test(`a client that reads nothing is disconnected in time while ${title} data is unread in total`, async (t) => {
    const setTime = simulateTime(t)
    const causes: string[] = []
    const closing = new Closing(emptyAnswerRoom(), (cause) => causes.push(cause))
    const [reading, stalled] = unreadAnswers(closing, size, size) as [Connection, Connection]
    for (let ms = 1000; ms < msMax; ms += 1000) {
      setTime(ms)
      reading.read(70_000, false)
      closing.closeUnread()
    }
    t.equal(stalled.isClosed, false)
    setTime(msMax)
    closing.closeUnread()
    t.equal(stalled.isClosed, true)
    t.same(causes, ['unread'])
    t.notOk(reading.isClosed || reading.isDone, 'a client that reads stays, even if the kernel does not report it')
  })
}

t.test('every response arrives complete, however it is divided into pieces', async (t) => {
  const random = seededRandom(t)
  const setTime = simulateTime(t)
  let seconds = 0
  const closing = new Closing(emptyAnswerRoom(), (cause) => assert.fail(`a connection is closed: ${cause}`))
  const responses = new Responses(closing)
  const connections = Array.from({ length: 40 }, (_, i) => {
    const connection = new Connection()
    const sent = { status: 200, body: Buffer.alloc(0) }
    sent.body = Buffer.from(Array.from({ length: 3000 + random.below(400_000) }, (_, at) => (at * 7 + i) % 251))
    connection.room = random.below(10_000)
    responses.send({ ...connection.receiver, closing: i % 2 === 0 }, sent)
    return { connection, body: sent.body }
  })
  for (let unread = connections; unread.length > 0; ) {
    // Enough per round that no client counts as reading nothing.
    for (const { connection } of unread) connection.read(20_000 + random.below(50_000), !random.oneIn(3))
    setTime((seconds += 4) * 1000)
    closing.closeUnread()
    await turn()
    unread = unread.filter(({ connection, body }) => connection.received.length < body.length)
  }
  t.ok(connections.every(({ connection, body }) => connection.received.equals(body)))
  const isEarly = connections.some(({ connection }) => connection.isEarly)
  t.notOk(isEarly, 'no response counts as complete too early')
  await eventually(() => closing.rests.count === 0)
  t.equal(closing.rests.bytesFree, answerBytesWaitingMax, 'no buffers are kept')
})
