/** Lines that an upload writes together, and its end if its key is revoked: a bare upload, with a store that only counts. */
import t, { type Test } from 'tap'
import { Upload } from '../../dist/api/batch/upload.js'
import { problem } from '../../dist/api/problems.js'
import { accessOf } from '../../dist/auth/access.js'
import { PacedBound } from '../../dist/base/paced-bound.js'
import { skippableTime } from '../support/skipped-time.js'
import { turn } from '../support/turns.js'

const access = accessOf({ name: 'k', tokenHash: '', allow: ['add', 'set'], under: [], madeMs: 0 }, undefined, {
  requests: 0,
})

interface Trial {
  readonly upload: Upload
  /** The number of operations in each write. */
  readonly batches: readonly number[]
  /** Called with each batch while it is written. */
  onWrite: () => void
  /** Makes the caller's key unknown. */
  revoke(): void
}

function trial(linesAtOnce = new PacedBound(4000)): Trial {
  const batches: number[] = []
  let isKnown = true
  const options = {
    store: {
      async write(operations: readonly unknown[]) {
        batches.push(operations.length)
        result.onWrite()
        return operations.map(() => 'created' as const)
      },
    },
    lineBytesMax: 1024 * 1024,
    uploadBytesMax: 1024 * 1024,
    countRefused: () => {},
    kept: { bytes: 0 },
    linesAtOnce,
    findCaller: () => (isKnown ? access : undefined),
    problemFor: () => problem('internal_error'),
  }
  const inlet = { resume: () => {}, drop: () => {}, close: () => {} }
  const upload = new Upload(options, inlet, {
    aborted: false,
    headers: undefined,
    sender: undefined,
    onAborted: undefined,
  })
  const result: Trial = {
    upload,
    batches,
    onWrite: () => {},
    revoke() {
      isKnown = false
    },
  }
  return result
}

const lines = (count: number): Buffer => Buffer.from('{"op":"addAndSet","path":"a","value":1}\n'.repeat(count))

const batchesOf = async (trial: Trial, count: number): Promise<readonly number[]> => {
  trial.upload.take(lines(count))
  trial.upload.end()
  await trial.upload.answer
  return trial.batches
}

await t.test('an upload writes ever more lines together if writes are fast, and fewer if slow', async (t: Test) => {
  const time = skippableTime(t)
  const linesAtOnce = new PacedBound(4000)
  t.strictSame(await batchesOf(trial(linesAtOnce), 10_000), [250, 500, 1000, 2000, 4000, 2250])
  t.strictSame(await batchesOf(trial(linesAtOnce), 8001), [4000, 4000, 1], 'a later upload continues from there')
  const slow = trial(linesAtOnce)
  slow.onWrite = () => time.pass(3001)
  const fewer = [4000, 2000, 1000, 500, ...Array.from({ length: 10 }, () => 250)]
  t.strictSame(await batchesOf(slow, 10_000), fewer)
  t.equal(linesAtOnce.value, 250)
})

await t.test('an upload whose key is revoked ends at the next line, even if that line is blank', async (t: Test) => {
  const { upload, revoke } = trial()
  upload.take(Buffer.from('\n'))
  await turn()
  revoke()
  upload.take(Buffer.from('\n'))
  t.match(await upload.answer, { status: 401 })
})

await t.test('a drain ends an upload only if lines are left', async (t: Test) => {
  const whole = trial()
  whole.onWrite = () => whole.upload.end('draining')
  whole.upload.take(lines(2))
  whole.upload.end()
  t.match(await whole.upload.answer, { status: 200, body: /"done":true,"durable":2/ })
  const partial = trial()
  partial.onWrite = () => partial.upload.end('draining')
  partial.upload.take(lines(251))
  partial.upload.end()
  t.match(await partial.upload.answer, { status: 503, body: /"code":"draining".*"durable":250/ })
})
