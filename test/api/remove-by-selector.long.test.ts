/**
 * Removal by selector among others: however many remove at once, every topic is counted once; writers wait for one bounded commit at
 * most; a removal that a death interrupts has removed a prefix of its matches and can be repeated; and a restricted key
 * removes in its own subtrees only.
 */

import { join } from 'node:path'
import t from 'tap'
import { gives } from '../support/claims.js'
import { type Client, pathsOf } from '../support/client.js'
import { treeOrder } from '../support/model.js'
import { first, medianOf } from '../support/only.js'
import { seededRandom } from '../support/random.js'
import { overWorkers, startServer, until } from '../support/server.js'
import { makeDirectory } from '../support/store.js'

/** Topics of the removal that writers are measured beside. */
const many = Number(process.env.REMOVE_TOPICS ?? 100_000)

/** Paths in tree order: a thousand topics to a group. */
function tree(topics: number): string[] {
  const numbers = Array.from({ length: topics }, (_, i) => String(i).padStart(7, '0'))
  return numbers.map((number) => `r/g${number.slice(0, 4)}/${number.slice(4)}`)
}

/** Removes and answers how many, by the service's own count. */
async function removed(client: Client, selector: string): Promise<number> {
  const { status, text } = await client.post('remove', { selector })
  if (status !== 200) throw new Error(`the removal of ${selector} was answered ${status}: ${text}`)
  return (JSON.parse(text) as { removed: number }).removed
}

await overWorkers(t, async (t, server) => {
  await t.test('every topic that ever stood was counted by one of its removers, or stands', async (t) => {
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
    const standing = pathsOf(await client.walk('?r//', { size: 1000 })).length
    t.comment(`${created - paths.length} were created while ${selectors.length} removers were at it`)
    t.equal(sum + standing, created, `${sum} removed and ${standing} standing are all that were created`)
    t.equal(await removed(client, '?r//'), standing, 'the rest is removed too')
  })
})

t.test(`while ${many} topics are removed, other writers never wait long`, async (t) => {
  const dataDir = join(t.testdir(), 'db')
  await makeDirectory(dataDir, [...tree(many), 'w/0', 'w/1'])
  const server = await startServer(t, { dataDir, workers: 2 })
  let removing = true
  const startedAt = performance.now()
  const removal = removed(server.connect(), '?r//').finally(() => (removing = false))
  const latencies: number[] = []
  const writers = Array.from({ length: 4 }, async (_, i) => {
    const client = server.connect()
    while (removing) {
      const writtenAt = performance.now()
      const { status } = await client.post('set', { path: `w/${i % 2}`, value: latencies.length })
      if (status !== 200) throw new Error(`a write was answered ${status}`)
      latencies.push(performance.now() - writtenAt)
    }
  })
  await Promise.all(writers)
  t.equal(await removal, many, 'the count is exact')
  const medianMs = medianOf(latencies)
  const maxMs = Math.max(...latencies)
  const tookMs = performance.now() - startedAt
  const words = `${latencies.length} in ${tookMs.toFixed(0)} ms, median ${medianMs.toFixed(1)} ms, longest ${maxMs.toFixed(0)} ms`
  t.ok(latencies.length > 40 && medianMs < Math.max(100, tookMs / 20) && maxMs < Math.max(1000, tookMs / 2), words)
})

t.test('a removal that a death interrupts has removed a prefix, and is repeated with an exact count', async (t) => {
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
  t.equal(await interrupted, 'died', 'nobody was told that it was done')
  await server.logged('worker died')
  const after = server.connect()
  await until('the next worker serves', () =>
    after.post('fetch', { path: paths[0] }).then(
      () => true,
      () => undefined,
    ),
  )
  const standing = pathsOf(await after.walk('?r//', { size: 1000 }))
  t.ok(standing.length > 0 && standing.length <= paths.length - 3000, `${standing.length} of ${paths.length} stand`)
  t.strictSame(standing, paths.slice(paths.length - standing.length), 'they are the last ones, without a gap')
  t.equal(await removed(after, '?r//'), standing.length, 'the removal repeated counts exactly those')
  gives(t, await after.post('fetch', { selector: '?r//' }), '{"has_more":false,"results":[]}', 'nothing is left')
})

t.test('a restricted key removes in its subtrees only, whatever it selects', async (t) => {
  const server = await startServer(t)
  const paths = ['a', 'a/b', 'a/b/c', 'a/b/d/e', 'a/b-c', 'a/c', 'b/x', 'c', 'c/d'].sort(treeOrder)
  const token = await server.addKey('restricted', { allow: ['remove'], under: ['a/b', 'c'] })
  const restricted = server.connect(1, token)
  const selectors = [
    { selector: '?.*//', gone: ['a/b', 'a/b/c', 'a/b/d/e', 'c', 'c/d'] },
    { selector: '*.*/[cd]', gone: ['a/b/c', 'c/d'] },
    { selector: '#a////?a/.*//////>c', gone: ['a/b', 'a/b/c', 'a/b/d/e', 'c'] },
    { selector: '?a/', gone: ['a/b', 'a/b/c', 'a/b/d/e'] },
    { selector: 'a/c', gone: [] },
    { selector: '?b//', gone: [] },
  ]
  for (const { selector, gone } of selectors) {
    for (const path of paths) await server.post('addAndSet', { path, value: path })
    const answer = await restricted.post('remove', { selector })
    gives(t, answer, `{"removed":${gone.length}}`, `${selector} removes ${gone.length}`)
    const standing = pathsOf(await server.client.walk('?.*//', { size: 1000 }))
    t.strictSame(
      standing,
      paths.filter((path) => !gone.includes(path)),
      `after ${selector} everything else stands`,
    )
  }
})
