/** Bytes and frames: what a writer of bytes appends is what a reader reads, however the socket cuts it. */
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import { ByteReader, ByteWriter } from '../../dist/store/lmdb/write/bytes.js'
import { frameHeadBytes, readFrames } from '../../dist/store/lmdb/write/frames.js'
import { seededRandom } from '../support/random.js'

const texts = ['', 'a', 'ä', '€', '𝄞 and 👩‍👩‍👧', 'x'.repeat(1000), '\0"\\\n'] as const

t.test('every kind of part is read as it was written, whether or not the buffer grew in between', (t) => {
  for (const bytesMin of [0, 1, 16, 64 * 1024]) {
    const out = new ByteWriter(bytesMin)
    for (const text of texts) {
      out.byte(255)
      out.uint32(0xffff_ffff)
      out.double(-1e-300)
      out.text(text)
      out.bytes(Buffer.from(text))
      out.sized(100, (buffer, start) => start + buffer.write('in place', start))
    }
    t.equal(out.length > 0, true)
    const from = new ByteReader(out.take())
    for (const text of texts) {
      t.equal(from.byte(), 255)
      t.equal(from.uint32(), 0xffff_ffff)
      t.equal(from.double(), -1e-300)
      t.equal(from.text(), text)
      t.equal(from.bytes().toString(), text)
      t.equal(from.text(), 'in place')
    }
    t.notOk(from.hasMore)
    t.equal(out.length, 0, 'nothing is left')
  }
  t.end()
})

t.test('what was taken stays as it is, whatever is appended later', (t) => {
  const random = seededRandom(t)
  const out = new ByteWriter(16)
  const taken: { readonly bytes: Buffer; readonly wanted: Buffer }[] = []
  for (let i = 0; i < 500; i++) {
    const parts = Array.from({ length: 1 + random.below(4) }, () => Buffer.alloc(random.below(40_000), i))
    for (const part of parts) out.raw(part)
    const wanted = Buffer.concat(parts)
    taken.push({ bytes: out.take(), wanted })
    if (taken.length > 20) taken.shift()
    if (!taken.every(({ bytes, wanted }) => bytes.equals(wanted))) t.fail(`a buffer changed in step ${i}`)
  }
  t.end()
})

t.test('bytes that end too early are an error, wherever they end', (t) => {
  const out = new ByteWriter()
  out.byte(1)
  out.uint32(2)
  out.double(3)
  out.text('four')
  out.bytes(Buffer.from('five'))
  const all = out.take()
  const readAll = (bytes: Buffer): void => {
    const from = new ByteReader(bytes)
    from.byte()
    from.uint32()
    from.double()
    from.text()
    from.bytes()
  }
  readAll(all)
  for (let length = 0; length < all.length; length++) {
    t.throws(() => readAll(all.subarray(0, length)), RangeError, `${length} bytes`)
  }
  t.end()
})

function frameOf(content: Buffer): Buffer {
  const head = Buffer.alloc(frameHeadBytes)
  head.writeUInt32LE(content.length)
  return Buffer.concat([head, content])
}

function fail(reason: Error): void {
  throw reason
}

/** Feeds chunks to a reader of frames; returns the frames. */
function framesIn(chunks: readonly Buffer[]): Buffer[] {
  const socket = new EventEmitter() as Socket
  const frames: Buffer[] = []
  readFrames(socket, (frame) => frames.push(frame), fail)
  for (const chunk of chunks) socket.emit('data', chunk)
  return frames
}

const contents = ['first', '', 'a third one', '', '', 'x'].map((text) => Buffer.from(text))

t.test('frames are the same at whichever two bytes they are cut', (t) => {
  const stream = Buffer.concat(contents.map(frameOf))
  for (let first = 0; first <= stream.length; first++) {
    for (let second = first; second <= stream.length; second++) {
      const chunks = [stream.subarray(0, first), stream.subarray(first, second), stream.subarray(second)]
      const frames = framesIn(chunks.filter(({ length }) => length > 0))
      const isSame =
        frames.length === contents.length && frames.every((frame, i) => frame.equals(contents[i] as Buffer))
      if (!isSame) t.fail(`cut at ${first} and ${second}: ${frames.map(String).join('|')}`)
    }
  }
  t.strictSame(
    framesIn([...stream].map((byte) => Buffer.from([byte]))).map(String),
    contents.map(String),
    'byte by byte',
  )
  t.strictSame(framesIn([stream]).map(String), contents.map(String), 'all in one chunk')
  t.end()
})

t.test('a frame is passed on with its last byte, and not before', (t) => {
  const frame = frameOf(Buffer.from('whole'))
  t.equal(framesIn([frame.subarray(0, -1)]).length, 0)
  t.equal(framesIn([frame.subarray(0, -1), frame.subarray(-1)]).length, 1)
  t.end()
})

t.test('frames of several MB among small ones arrive unchanged in chunks of any size', (t) => {
  const random = seededRandom(t)
  const wanted = Array.from({ length: 12 }, (_, i) => {
    const content = Buffer.alloc(random.oneIn(3) ? 2_000_000 + random.below(3_000_000) : random.below(300), i)
    if (content.length > 0) content[content.length - 1] = 0xff
    return content
  })
  const stream = Buffer.concat(wanted.map(frameOf))
  const chunks: Buffer[] = []
  for (let at = 0; at < stream.length; ) {
    const length = random.oneIn(20) ? 1 + random.below(5) : 65_536
    chunks.push(stream.subarray(at, at + length))
    at += length
  }
  const frames = framesIn(chunks)
  t.equal(frames.length, wanted.length)
  t.ok(frames.every((frame, i) => frame.equals(wanted[i] as Buffer)))
  t.end()
})

t.test('a frame stays as it is when later ones arrive', (t) => {
  const socket = new EventEmitter() as Socket
  const frames: Buffer[] = []
  readFrames(socket, (frame) => frames.push(frame), fail)
  for (let i = 0; i < 300; i++) {
    const bytes = frameOf(Buffer.alloc(100, i))
    socket.emit('data', bytes.subarray(0, 50))
    socket.emit('data', bytes.subarray(50))
  }
  t.ok(frames.every((frame, i) => frame.equals(Buffer.alloc(100, i))))
  t.end()
})

t.test('what is no frame, or cannot be taken, ends the connection, and the reason is passed on', (t) => {
  const planted = new RangeError('planted')
  const tooLong = Buffer.alloc(frameHeadBytes, 0xff)
  for (const [bytes, message] of [
    [frameOf(Buffer.from('x')), 'planted'],
    [tooLong, `a frame claims to have ${frameHeadBytes + 0xffff_ffff} bytes`],
  ] as const) {
    let isEnded = false
    const socket = Object.assign(new EventEmitter(), { destroy: () => (isEnded = true) }) as unknown as Socket
    const reasons: Error[] = []
    const take = (): void => {
      throw planted
    }
    readFrames(socket, take, (reason) => reasons.push(reason))
    socket.emit('data', bytes)
    t.match(reasons, [{ message }])
    t.ok(isEnded)
  }
  t.end()
})
