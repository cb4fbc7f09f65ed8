/**
 * A process that dies while it reads leaves its snapshot in LMDB's table of readers, and no page freed after that is reused. The other
 * processes clear such entries, so the file stops growing. They never clear the entries of living readers.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import type { Path } from '../../dist/topics/path.js'
import { makeDirectory, single } from '../support/stores/store.js'
import { tied } from '../support/tied.js'

const topics = 2000
const value = Buffer.from(JSON.stringify('x'.repeat(1000)))

/** A process that walks to the first topic and continues once it gets a message. */
async function startReader(t: Test, directory: string): Promise<ChildProcess> {
  const script = `
    import { openLmdbStore } from ${JSON.stringify(join(import.meta.dirname, '../../dist/store/lmdb/open.js'))}
    import { everyTopic } from ${JSON.stringify(join(import.meta.dirname, '../../dist/topics/range.js'))}
    const store = openLmdbStore({ directory: ${JSON.stringify(directory)} })
    const walk = store.walk({ ranges: [everyTopic], matcher: undefined }, { aborted: false })
    await walk.next()
    process.send('reading')
    process.on('message', async () => {
      const values = new Set()
      let count = 1
      for await (const { valueText } of walk) {
        count++
        values.add(valueText.length)
      }
      process.send({ count, lengths: [...values] })
      await store.close()
      process.disconnect()
    })`
  const reader = spawn(...tied(process.execPath, ['--input-type=module', '-e', script]), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  t.teardown(() => reader.kill('SIGKILL'))
  await once(reader, 'message')
  return reader
}

/** A store of many topics, and a reader in another process that has read the first of them. */
async function startBoth(t: Test): Promise<{ readonly reader: ChildProcess; readonly store: TopicStore }> {
  const directory = join(t.testdir(), 'db')
  await makeDirectory(
    directory,
    Array.from({ length: topics }, (_, i) => `t/${i}`),
  )
  const reader = await startReader(t, directory)
  const store = openLmdbStore({ directory })
  t.teardown(() => store.close())
  return { reader, store }
}

async function overwriteAll(store: TopicStore): Promise<void> {
  await Promise.all(Array.from({ length: topics }, (_, i) => single.set(store, `t/${i}` as Path, 'json', value)))
}

const bytesOf = async (store: TopicStore): Promise<number> => (await store.stats()).bytes

await t.test('the store file stops growing after a reader is killed', async (t) => {
  const { reader, store } = await startBoth(t)
  for (let round = 0; round < 5; round++) await overwriteAll(store)
  const before = await bytesOf(store)
  await overwriteAll(store)
  t.ok((await bytesOf(store)) > before, 'while the reader lives, its snapshot is kept, so the file grows')
  reader.kill('SIGKILL')
  await once(reader, 'exit')
  const killedAt = performance.now()
  let steadyRounds = 0
  let bytes = await bytesOf(store)
  while (steadyRounds < 10 && performance.now() - killedAt < 20_000) {
    await overwriteAll(store)
    const now = await bytesOf(store)
    steadyRounds = now === bytes ? steadyRounds + 1 : 0
    bytes = now
  }
  t.equal(steadyRounds, 10, `everything is overwritten ten times in a row without growth; ${bytes} bytes`)
})

await t.test('a living reader keeps its snapshot until it finishes', async (t) => {
  const { reader, store } = await startBoth(t)
  for (const end = performance.now() + 3500; performance.now() < end; ) await overwriteAll(store)
  reader.send('continue')
  const [{ count, lengths }] = (await once(reader, 'message')) as [{ count: number; lengths: number[] }]
  t.equal(count, topics)
  t.ok(Math.max(...lengths) < 10, 'the reader gets the values from before all overwrites')
  await once(reader, 'exit')
})
