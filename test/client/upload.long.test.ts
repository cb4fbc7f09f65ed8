/** The client's `upload`: any number of operations, across reloads, and the reports of rejections. */
import t from 'tap'
import { connect, jsonText, type Operation, type Refusal, TopicdError, type Uploaded } from '../../dist/client/index.js'
import { collectGarbage } from '../support/garbage.js'
import { startServer } from '../support/service/server.js'

const server = await startServer(t, { workers: 2 })
const topics = connect(server.url, { key: server.token })

/** Increments of one topic, which reveal an operation that ran twice or not at all. Every hundredth is rejected. */
function* increments(count: number): Generator<Operation> {
  for (let i = 0; i < count; i++)
    yield { op: 'increment', path: i % 100 === 99 ? 'missing' : 'sum', increment: i % 100 === 99 ? 1 : 2 }
}

await t.test('an upload applies each operation once across a reload', async (t) => {
  await topics.addAndSet('sum', 0)
  const count = 60_000
  const progress: Uploaded[] = []
  const refusals: Refusal[] = []
  let reload: ReturnType<typeof server.command> | undefined
  const uploaded = await topics.upload(increments(count), {
    onProgress(soFar) {
      progress.push(soFar)
      reload ??= server.command('reload')
    },
    onRefused: (refusal) => refusals.push(refusal),
  })
  t.equal((await reload)?.code, 0)
  t.strictSame(uploaded, { durable: 0.99 * count, refused: 0.01 * count })
  t.equal((await topics.get('sum'))?.value, 2 * 0.99 * count)
  t.ok(progress.length > 5, `${progress.length} steps`)
  t.strictSame(progress.at(-1), uploaded)
  t.strictSame(
    refusals.map(({ index }) => index),
    Array.from({ length: count / 100 }, (_, i) => 100 * i + 99),
  )
  t.match(refusals[0], { code: 'no_such_topic', message: 'There is no topic at the path "missing".' })
})

await t.test('an error in an asynchronous source ends the upload', async (t) => {
  async function* source(): AsyncGenerator<Operation> {
    for (let i = 0; i < 10; i++) yield { op: 'addAndSet', path: `async/${i}`, value: 'x'.repeat(100_000) }
    throw new Error('the source has ended early')
  }
  let uploaded: Uploaded | undefined
  const upload = topics.upload(source(), { onProgress: (soFar) => (uploaded = soFar) })
  await t.rejects(upload, { message: 'the source has ended early' })
  t.strictSame(uploaded, { durable: 10, refused: 0 }, 'the operations before the error are stored')
  t.equal(await topics.count('?async/.*'), 10)
})

await t.test('an upload with a signal does not keep sent operations in memory', async (t) => {
  const sent: WeakRef<Operation>[] = []
  let kept: number | undefined
  async function* source(): AsyncGenerator<Operation> {
    for (let i = 0; i < 10_000; i++) {
      const operation: Operation = { op: 'addAndSet', path: 'kept', value: i }
      if (i < 1000) sent.push(new WeakRef(operation))
      yield operation
    }
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    kept = sent.filter((reference) => reference.deref() !== undefined).length
  }
  const { signal } = new AbortController()
  t.strictSame(await topics.upload(source(), { signal }), { durable: 10_000, refused: 0 })
  t.ok(kept !== undefined && kept < 10, `${kept} of 1000`)
})

await t.test('an empty upload resolves, and the promise of a rejected or aborted upload rejects', async (t) => {
  t.strictSame(await topics.upload([]), { durable: 0, refused: 0 })
  const stranger = connect(server.url, { key: 'unknown' })
  await t.rejects(stranger.upload(increments(1)), { status: 401, code: 'unauthorized' })
  const controller = new AbortController()
  controller.abort(new Error('not now'))
  await t.rejects(topics.upload(increments(1), { signal: controller.signal }), { message: 'not now' })
})

await t.test('a value given as a JSON text of several lines is sent as one line', async (t) => {
  const text = '[\n{"op":"remove","path":"sum"},\r\n"a\\nb"]'
  const operations: Operation[] = [
    { op: 'addAndSet', path: 'texts/1', value: jsonText(text) },
    { op: 'set', path: 'missing', value: 1 },
  ]
  const refusals: Refusal[] = []
  const uploaded = await topics.upload(operations, { onRefused: (refusal) => refusals.push(refusal) })
  t.strictSame(uploaded, { durable: 1, refused: 1 })
  t.strictSame(
    refusals.map(({ index }) => index),
    [1],
  )
  t.strictSame((await topics.get('texts/1'))?.value, JSON.parse(text))
  t.ok(await topics.get('sum'), 'no part of the text was taken for an operation')
})

await t.test('every rejection of a large upload is reported', async (t) => {
  const operations = Array.from({ length: 30_000 }, () => ({ op: 'set', path: 'missing', value: 1 }) as const)
  let told = 0
  const uploaded = await topics.upload(operations, { onRefused: () => told++ })
  t.strictSame(uploaded, { durable: 0, refused: 30_000 })
  t.equal(told, 30_000)
})

await t.test('an aborted signal ends an upload whose source is silent', async (t) => {
  let isReturned = false
  const source = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise<never>(() => {}),
      return: async () => {
        isReturned = true
        return { value: undefined, done: true as const }
      },
    }),
  }
  const controller = new AbortController()
  const upload = topics.upload(source, { signal: controller.signal })
  controller.abort(new Error('enough'))
  await t.rejects(upload, { message: 'enough' })
  t.ok(isReturned, 'the source is closed')
})

await t.test('a response from another program causes the upload to fail', async (t) => {
  for (const text of ['', '<html>', '{"durable":1,"refused":0}\n', '[]']) {
    const fetch = async (): Promise<Response> => new Response(text)
    const other = connect(server.url, { key: server.token, fetch })
    const error: unknown = await other.upload(increments(1)).catch((reason) => reason)
    t.ok(error instanceof TopicdError && error.code === 'unexpected_answer', JSON.stringify(text))
  }
})
