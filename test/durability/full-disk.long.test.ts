/**
 * A disk that fills up. Writes that add bytes get 507 before it is full, while fetches and removals continue. No worker dies. Once there is
 * room again, writes succeed without intervention.
 */
import { join } from 'node:path'
import t from 'tap'
import { refuses } from '../support/expected-answers.js'
import { mountSmallDisk, whyNoSmallDisk } from '../support/machines/small-disk.js'
import { startServer, until } from '../support/service/server.js'

const mebibyte = 1024 * 1024

/** Returns true if every write gets 507 for longer than a write in flight counts as used space. */
async function staysFull(write: () => Promise<number>): Promise<true | undefined> {
  for (const endMs = performance.now() + 500; performance.now() < endMs; ) {
    if ((await write()) !== 507) return undefined
  }
  return true
}

t.test('a full disk rejects only writes that add bytes, until there is room', { skip: whyNoSmallDisk() }, async (t) => {
  const disk = mountSmallDisk(t, 96 * mebibyte)
  const flags = ['--disk-free-bytes-min', String(16 * mebibyte)]
  const server = await startServer(t, { workers: 2, dataDir: join(disk.directory, 'db'), flags })
  const { post } = server
  const value = 'x'.repeat(200_000)
  const acknowledged: string[] = []
  const last: number[] = []
  await Promise.all(
    Array.from({ length: 16 }, async (_, i) => {
      const client = server.connect()
      for (let next = 0; ; next++) {
        const path = `fill/${i}/${next}`
        const { status } = await client.post('addAndSet', { path, value })
        if (status !== 200) return last.push(status)
        acknowledged.push(path)
      }
    }),
  )
  t.ok(
    last.every((status) => status === 507),
    `writes to the full disk get ${[...new Set(last)].join()}`,
  )
  const fill = async (value: string): Promise<number> => {
    const path = `fill/slowly/${acknowledged.length}`
    const { status } = await post('addAndSet', { path, value })
    if (status === 200) acknowledged.push(path)
    return status
  }
  // Writes in flight counted as used space. Once they complete, there is room for a few more, then for small ones.
  await until('the disk stays full', async () =>
    (await fill(value)) === 200 ? undefined : staysFull(() => fill('x'.repeat(4096))),
  )
  t.ok(acknowledged.length > 50, `${acknowledged.length} writes filled the disk`)

  await t.test('writes that add bytes are rejected with a helpful message', async (t) => {
    const [path] = acknowledged
    for (const answer of [
      await post('addAndSet', { path: 'more', value: 1 }),
      await post('add', { path: 'more' }),
      await post('set', { path, value: 1 }),
    ]) {
      refuses(t, answer, 507, 'disk_nearly_full', 'a write', 'disk', 'fetch still works')
    }
    await until(
      'the service is not ready',
      async () => (await fetch(`${server.adminUrl}/readyz`)).status === 503 || undefined,
    )
  })

  await t.test('fetches and removals continue on a full disk', async (t) => {
    const pages = await server.client.walk('*fill//', { size: 100 })
    const found = new Set(pages.flatMap(({ results }) => results.map(({ path }) => path)))
    t.strictSame(
      acknowledged.filter((path) => !found.has(path)),
      [],
      'every acknowledged topic is there',
    )
    t.match(await post('remove', { path: acknowledged[0] }), { status: 200, text: '{"removed":1}' }, 'a remove')
    t.match(await post('remove', { selector: '*fill/3//' }), { status: 200 }, 'a remove by selector')
  })

  await t.test('writes that add bytes succeed once there is room again', async (t) => {
    disk.resize(192 * mebibyte)
    await until(
      'a write succeeds',
      async () => (await post('addAndSet', { path: 'more', value: 1 })).status === 200 || undefined,
    )
    await until(
      'the service is ready',
      async () => (await fetch(`${server.adminUrl}/readyz`)).status === 200 || undefined,
    )
    t.match(await post('fetch', { path: 'more' }), { status: 200 }, 'the write is visible')
  })

  t.equal(server.timesLogged('worker died'), 0, 'no worker died')
})
