/** Bodies that arrive in pieces are assembled byte for byte, within a limit on all bodies. */
import t from 'tap'
import {
  type Arriving,
  Bodies,
  bodyBytesKeptMin,
  bodyBytesSmallMax,
  bodyBytesWaitingMax,
} from '../../dist/http/body.js'

const arriving = (): Arriving => ({ kept: undefined, keptBytes: 0 })

function piece(bytes: number, fill = 0): ArrayBuffer {
  return new Uint8Array(bytes).fill(fill).buffer
}

/** Bodies next to requests in flight that hold this many bytes. */
const bodiesWith = (workingBytes = 0): Bodies => new Bodies(() => workingBytes)

t.test('pieces are copied and appended in order', (t) => {
  const bodies = bodiesWith()
  const body = arriving()
  const first = piece(3, 1)
  bodies.add(body, first, 1_000_000)
  new Uint8Array(first).fill(9)
  let received: Buffer | undefined
  // The buffer grows several times.
  for (let size = 1; size <= 100_000; size *= 10) received = bodies.add(body, piece(size, 2), 1_000_000)
  t.equal(received?.length, 3 + 111_111)
  t.ok(111_111 > 2 * bodyBytesKeptMin)
  t.strictSame([...(received?.subarray(0, 5) ?? [])], [1, 1, 1, 2, 2])
  t.ok(received?.subarray(3).every((byte) => byte === 2))
  t.end()
})

t.test('bytesHeld counts each kept buffer until its release', (t) => {
  const bodies = bodiesWith(7)
  const body = arriving()
  bodies.add(body, piece(1), 1_000_000)
  t.equal(bodies.bytesHeld, bodyBytesKeptMin + 7)
  bodies.add(body, piece(bodyBytesKeptMin), 1_000_000)
  t.equal(bodies.bytesHeld, 2 * (bodyBytesKeptMin + 1) + 7, 'twice the size, with the old buffer released')
  bodies.releaseBody(body)
  bodies.releaseBody(body)
  t.equal(bodies.bytesHeld, 7)
  t.end()
})

t.test('beyond the limit on waiting bytes, large bodies are rejected, but small ones are not', (t) => {
  const atLimit = bodiesWith(bodyBytesWaitingMax - bodyBytesSmallMax - 1)
  t.notOk(atLimit.isTooMuch(bodyBytesSmallMax + 1), 'the limit')
  t.ok(atLimit.isTooMuch(bodyBytesSmallMax + 2), 'the limit + 1')
  const full = bodiesWith(bodyBytesWaitingMax)
  t.notOk(full.isTooMuch(bodyBytesSmallMax))
  const body = arriving()
  t.equal(full.add(body, piece(10), bodyBytesSmallMax)?.length, 10)
  t.equal(full.add(body, piece(bodyBytesSmallMax), 2 * bodyBytesSmallMax), undefined)
  t.equal(body.kept, undefined)
  t.equal(full.bytesHeld, bodyBytesWaitingMax)
  t.end()
})
