/**
 * Removal by selector alongside other requests: every topic is counted once, and other writes are served in between. A removal
 * interrupted by its worker's death has removed a prefix of its matches and can be repeated.
 */
import { join } from 'node:path'
import t from 'tap'
import { first } from '../support/elements.js'
import { gives } from '../support/expected-answers.js'
import { seededRandom } from '../support/random.js'
import { type Client, pathsOf } from '../support/service/client.js'
import { overStores } from '../support/service/over-stores.js'
import { startServer, until } from '../support/service/server.js'
import { makeDirectory } from '../support/stores/store.js'

/** Topics that are removed while other clients write. */
const many = Number(process.env.REMOVE_TOPICS ?? 40_000)

/** Paths in tree order, 1,000 per group. */
function tree(topics: number): string[] {
  const numbers = Array.from({ length: topics }, (_, i) => String(i).padStart(7, '0'))
  return numbers.map((number) => `r/g${number.slice(0, 4)}/${number.slice(4)}`)
}

/** Removes the matches and resolves with the service's count. */
async function removed(client: Client, selector: string): Promise<number> {
  const { status, text } = await client.post('remove', { selector })
  if (status !== 200) throw new Error(`the removal of ${selector} returned ${status}: ${text}`)
  return (JSON.parse(text) as { removed: number }).removed
}

await overStores(t, async (t, server) => {
  await t.test('every topic is counted by exactly one of several concurrent removals, or still exists', async (t) => {
    const random = seededRandom(t)
    const paths = tree(1500)
    const { client } = server
    let created = 0
    const addAll = async (list: readonly string[]): Promise<void> => {
      const answers = await Promise.all(list.map((path) => client.post('addAndSet', { path, value: 1 })))
      for (const { text } of answers) if (text.includes('"created":true')) created++
    }
    await addAll(paths)
    t.equal(created, paths.length)

    const selectors = ['?r/.*//', '*r//', '*r/.*[05]', '?r/.*/.*', '#*r/g0000//////?r//', '?r/g0001//']
    let removing = selectors.length
    const counts = selectors.map((selector) => removed(client, selector).finally(() => removing--))
    const writers = Array.from({ length: 4 }, async () => {
      while (removing > 0) {
        const path = random.pick(paths)
        if (random.oneIn(2)) await addAll([path])
        else await client.post('set', { path, value: 2 })
      }
    })
    let sum = 0
    for (const count of await Promise.all(counts)) sum += count
    await Promise.all(writers)
    const remaining = pathsOf(await client.walk('?r//', { size: 1000 })).length
    t.equal(sum + remaining, created, `${sum} removed and ${remaining} remaining are all that were created`)
    t.equal(await removed(client, '?r//'), remaining, 'the rest is also removed')
  })
})

t.test(`other writers are served while ${many} topics are removed`, async (t) => {
  const dataDir = join(t.testdir(), 'db')
  await makeDirectory(dataDir, [...tree(many), 'w/0', 'w/1'])
  const server = await startServer(t, { dataDir, workers: 2 })
  const clients = Array.from({ length: 5 }, () => server.connect())
  // A worker that the server's own client is not connected to may learn the first key later.
  const isKnown = (client: Client) => async () => (await client.post('fetch', {})).status !== 401 || undefined
  await Promise.all(clients.map((client) => until('the key is known', isKnown(client))))
  let removing = true
  const removal = removed(first(clients), '?r//').finally(() => (removing = false))
  let writes = 0
  const writers = clients.slice(1).map(async (client, i) => {
    for (; removing; writes++) {
      const { status } = await client.post('set', { path: `w/${i % 2}`, value: writes })
      if (status !== 200) throw new Error(`a write returned ${status}`)
    }
  })
  await Promise.all(writers)
  t.equal(await removal, many, 'the count is exact')
  // A commit removes 500 topics. The writes must be at least a quarter as many as the commits.
  t.ok(writes > many / 2000, `${writes} writes while ${many} topics were removed`)
})

t.test("a removal interrupted by its worker's death has removed its first matches and can be repeated", async (t) => {
  const dataDir = join(t.testdir(), 'db')
  const paths = tree(30_000)
  await makeDirectory(dataDir, paths)
  const server = await startServer(t, { dataDir })
  const worker = first(server.workerPids())
  const client = server.connect()
  const watcher = server.connect()
  const interrupted = client.post('remove', { selector: '?r//' }).then(
    ({ status }) => status,
    () => 'died',
  )
  await until('a part has been removed', async () => {
    const { code } = await watcher.post('fetch', { path: paths[3000] })
    return code === 'no_such_topic' ? true : undefined
  })
  process.kill(worker, 'SIGKILL')
  t.equal(await interrupted, 'died', 'the removal was never acknowledged')
  await server.logged('worker died')
  const after = server.connect()
  await until('the next worker serves', () =>
    after.post('fetch', { path: paths[0] }).then(
      () => true,
      () => undefined,
    ),
  )
  const remaining = pathsOf(await after.walk('?r//', { size: 1000 }))
  t.ok(remaining.length > 0 && remaining.length <= paths.length - 3000, `${remaining.length} of ${paths.length} remain`)
  t.strictSame(remaining, paths.slice(paths.length - remaining.length), 'the last topics remain, without a gap')
  t.equal(await removed(after, '?r//'), remaining.length, 'the repeated removal counts exactly the remaining topics')
  gives(t, await after.post('fetch', { selector: '?r//' }), '{"has_more":false,"results":[]}', 'nothing is left')
})
