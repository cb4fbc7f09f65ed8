/**
 * Processes whose writes are executed by a writer, over its socket. Requests that cannot be executed fail alone; all others are executed in
 * order. store/batches tests random ones.
 */
import { join } from 'node:path'
import t from 'tap'
import { openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { storedForms, type WriteOperation } from '../../dist/store/topics.js'
import { bytesQueuedByClientMax } from '../../dist/store/writer/server.js'
import type { Constraint } from '../../dist/topics/constraint.js'
import type { Path } from '../../dist/topics/path.js'
import { WriterHost } from '../support/stores/lmdb-writer.js'
import { creation, single } from '../support/stores/store.js'
import { turn } from '../support/turns.js'

const set: WriteOperation = { kind: 'addAndSet', ...creation('b'), valueText: Buffer.from('1') }

await t.test('requests in flight are executed and answered in order', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const links = [host.link(t), host.link(t), host.link(t)]
  const inFlight = 1000
  await Promise.all(
    links.map(async (link, i) => {
      const path = `counter${i}` as Path
      const answered: number[] = []
      const write = (number: number): Promise<void> => {
        const constraint: Constraint =
          number === 0 ? { kind: 'no_topic' } : { kind: 'value', text: Buffer.from(`${number - 1}`) }
        const operation = { kind: 'addAndSet', ...creation(path), valueText: Buffer.from(`${number}`) } as const
        return link.write([{ ...operation, constraint }]).then((outcome) => {
          if ('refusal' in outcome) t.fail(`request ${number} was refused: ${outcome.refusal}`)
          answered.push(number)
        })
      }
      const written: Promise<void>[] = []
      for (let number = 0; number < inFlight; number++) {
        written.push(write(number))
        if (number % 100 === 0) await turn()
      }
      await Promise.all(written)
      t.strictSame(
        answered,
        Array.from({ length: inFlight }, (_, number) => number),
      )
    }),
  )
  t.ok(host.writer.frames() < links.length * inFlight, 'the requests of a turn share a frame')
  t.match(host.store.commits, { writes: links.length * inFlight, failed: 0, inFlight: 0 })
})

await t.test('outcomes that a client has received are deleted from the store', async (t) => {
  const directory = join(t.testdir(), 'db')
  const host = await WriterHost.open(t, directory)
  const link = host.link(t)
  const operation: WriteOperation = { kind: 'addAndSet', ...creation('a'), valueText: Buffer.from('1') }
  for (let round = 0; round < 50; round++) await Promise.all(Array.from({ length: 10 }, () => link.write([operation])))
  await link.close()
  await host.drain()
  const environment = openEnvironment(directory)
  const stored = [...environment.receipts.getRange({})].map(({ value }) => value.length)
  await environment.root.close()
  const outcomeBytes = 9
  t.equal(stored.length, 1)
  t.ok((stored[0] ?? 0) <= 10 * outcomeBytes, `${stored[0]} bytes of outcomes are kept, at most those of one turn`)
})

await t.test('a write stores the bytes that its buffers had when it was requested', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const link = host.link(t)
  await single.addAndSet(link, creation('a'), Buffer.from('"stored"'))
  const [valueText, text] = [Buffer.from('"before"'), Buffer.from('"stored"')]
  const set = { kind: 'set', path: 'a' as Path, type: 'json', valueText, constraint: { kind: 'value', text } } as const
  const written = link.write([set])
  for (const bytes of [valueText, text]) bytes.fill('x')
  t.strictSame(await written, ['set'])
  const item = await host.store.readTopic('a' as Path, storedForms.json)
  t.match(Buffer.from(item as Uint8Array).toString(), '"value":"before"')
})

async function failedWith(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'no failure',
    (error: unknown) => error,
  )
}

await t.test('a link keeps reconnecting while no descriptor is free, until it is closed', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  let attempts = 0
  const link = host.link(t, () => {
    if (++attempts < 3) throw new Error('connect EMFILE')
    return host.connect()
  })
  t.equal(await single.addAndSet(link, creation('a'), Buffer.from('1')), 'created')
  t.equal(attempts, 3)
  await link.close()
  for (const refused of [link.write([set]), link.change({ about: 'noteBackup', madeMs: 1 })]) {
    t.match(await failedWith(refused), { kind: 'unavailable' })
  }
})

await t.test('an error in a request is returned only to the caller of the request', async (t) => {
  const directory = join(t.testdir(), 'db')
  const host = await WriterHost.open(t, directory)
  await host.drain()
  const environment = openEnvironment(directory)
  await environment.keys.put('damaged', Buffer.from('{'))
  await environment.root.close()
  await host.start()
  const link = host.link(t)
  const rotation = { name: 'damaged', formerHash: '1'.repeat(64), tokenHash: '2'.repeat(64) }
  const results = await Promise.all([
    single.addAndSet(link, creation('a'), Buffer.from('1')),
    failedWith(link.change({ about: 'rotateKey', rotation })),
    single.addAndSet(link, creation('b'), Buffer.from('1')),
  ])
  t.equal(results[0], 'created')
  t.match(results[1], { message: /^API key "damaged": its record cannot be read/ })
  t.equal(results[2], 'created')
  t.equal(await link.change({ about: 'revokeKey', name: 'damaged' }), true)
})

await t.test('an unreadable request is reported and does not cause other requests to fail', async (t) => {
  const unreadable: string[] = []
  const onUnreadable = ({ message }: Error): unknown => unreadable.push(message)
  const host = await WriterHost.open(t, join(t.testdir(), 'db'), { onUnreadable })
  const link = host.link(t)
  const bad = (): Promise<unknown> => failedWith(link.change(null as never))
  const set = (path: string): Promise<unknown> => single.addAndSet(link, creation(path), Buffer.from('1'))
  const results = await Promise.all([set('a'), bad(), set('b'), bad(), bad(), bad(), set('c')])
  const message = /Cannot use 'in' operator/
  t.match(results, ['created', { message }, 'created', { message }, { message }, { message }, 'created'])
  t.equal(await set('a'), 'updated', 'later requests are executed')
  t.match(unreadable, [message, message, message, message])
})

await t.test('a request that cannot be encoded does not cause other requests to fail', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const link = host.link(t)
  const broken = { kind: 'remove', valueText: undefined } as unknown as WriteOperation
  for (const order of [
    [0, 1, 0, 1, 1],
    [1, 0, 0, 1],
    [0, 0],
  ]) {
    const sent = order.map((isGood) =>
      isGood === 1 ? single.addAndSet(link, creation('a'), Buffer.from('1')) : failedWith(link.write([set, broken])),
    )
    for (const [i, outcome] of (await Promise.all(sent)).entries()) {
      if (order[i] === 1) t.match(outcome, /created|updated/)
      else t.type(outcome, TypeError)
    }
  }
  t.equal(await host.store.readTopic('b' as Path, storedForms.json), 'no_such_topic')
})

await t.test('requests of a client wait while its queued bytes exceed the limit', async (t) => {
  const host = await WriterHost.open(t, join(t.testdir(), 'db'))
  const link = host.link(t)
  const text = Buffer.from(JSON.stringify('x'.repeat(4_000_000)))
  host.writer.pauseWrites()
  const count = 40
  const sent = Array.from({ length: count }, () =>
    link.write([{ kind: 'remove', path: 'a' as Path, valueText: undefined, constraint: { kind: 'value', text } }]),
  )
  const other = host.link(t)
  await turn()
  // Once the writer has taken this many small requests, each after a turn, it has read all that it will read for now.
  for (let i = 0; i < 200; i++) {
    void other.write([{ kind: 'remove', path: 'b' as Path, valueText: undefined }])
    await turn()
  }
  const queued = (host.store.commits?.inFlight ?? 0) - 200
  host.writer.resumeWrites()
  await Promise.all(sent)
  t.ok(queued * text.length <= bytesQueuedByClientMax + 2 * text.length, `${queued} of ${count} were read`)
})
