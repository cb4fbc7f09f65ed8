/**
 * A disk that fills up: writes that add bytes are answered 507 before it is full, while fetches and removes continue;
 * no worker dies; and once there is room again, writes succeed without intervention.
 */
import { strict as assert } from 'node:assert'
import { join } from 'node:path'
import t from 'tap'
import { refuses } from '../support/expected-answers.js'
import { mountSmallDisk, whyNoSmallDisk } from '../support/machines/small-disk.js'
import { seededRandom } from '../support/random.js'
import { startServer, until } from '../support/service/server.js'

const mebibyte = 1024 * 1024

/** True when every write is refused for longer than a write in flight counts as used space. */
async function staysFull(write: () => Promise<number>): Promise<true | undefined> {
  for (const endMs = performance.now() + 500; performance.now() < endMs; ) {
    if ((await write()) !== 507) return undefined
  }
  return true
}

t.test(
  'on a disk that fills up, only writes that add bytes are refused, until there is room again',
  { skip: whyNoSmallDisk() },
  async (t) => {
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
      `then they are answered ${[...new Set(last)].join()}`,
    )
    const fill = async (value: string): Promise<number> => {
      const path = `fill/slowly/${acknowledged.length}`
      const { status } = await post('addAndSet', { path, value })
      if (status === 200) acknowledged.push(path)
      return status
    }
    // Writes in flight counted as used space. Once they complete, there is room for a few more, then for small ones.
    await until('it stays full', async () =>
      (await fill(value)) === 200 ? undefined : staysFull(() => fill('x'.repeat(4096))),
    )
    t.ok(acknowledged.length > 50, `${acknowledged.length} writes filled it`)

    await t.test('writes that add bytes are refused, and the message says what still works', async (t) => {
      const [path] = acknowledged
      for (const answer of [
        await post('addAndSet', { path: 'more', value: 1 }),
        await post('add', { path: 'more' }),
        await post('set', { path, value: 1 }),
      ]) {
        refuses(t, answer, 507, 'disk_nearly_full', 'a write', 'disk', 'fetch still works')
      }
      await until('it is not ready', async () => (await fetch(`${server.adminUrl}/readyz`)).status === 503 || undefined)
    })

    await t.test('fetches and removes continue', async (t) => {
      const pages = await server.client.walk('*fill//', { size: 100 })
      const found = new Set(pages.flatMap(({ results }) => results.map(({ path }) => path)))
      t.strictSame(
        acknowledged.filter((path) => !found.has(path)),
        [],
        'everything acknowledged is there',
      )
      t.match(await post('remove', { path: acknowledged[0] }), { status: 200, text: '{"removed":1}' }, 'a remove')
      t.match(await post('remove', { selector: '*fill/3//' }), { status: 200 }, 'a remove by selector')
    })

    await t.test('once there is room again, writes succeed', async (t) => {
      disk.resize(192 * mebibyte)
      await until(
        'a write succeeds',
        async () => (await post('addAndSet', { path: 'more', value: 1 })).status === 200 || undefined,
      )
      await until('it is ready', async () => (await fetch(`${server.adminUrl}/readyz`)).status === 200 || undefined)
      t.match(await post('fetch', { path: 'more' }), { status: 200 }, 'and is visible')
    })

    t.equal(server.timesLogged('worker died'), 0, 'no worker died')
  },
)

t.test('batches of small writes do not fill a disk', { skip: whyNoSmallDisk() }, async (t) => {
  const freeBytesMin = 8 * mebibyte
  const disk = mountSmallDisk(t, 512 * mebibyte)
  const flags = ['--disk-free-bytes-min', String(freeBytesMin)]
  const options = { workers: 2, dataDir: join(disk.directory, 'db'), flags }
  const filling = await startServer(t, options)
  const random = seededRandom(t)
  const topics = 100_000
  // In their order, so that each commit replaces few pages, and the file has few free ones at the end.
  const pathOf = (i: number): string => `tree/${String(i).padStart(6, '0')}/${'x'.repeat(100)}`
  const client = filling.connect()
  for (let from = 0; from < topics; from += 1000) {
    const operations = Array.from({ length: 1000 }, (_, i) => ({
      op: 'addAndSet',
      path: pathOf(from + i),
      value: 'a small value',
    }))
    assert.equal((await client.post('batch', { operations })).status, 200)
  }

  // Every worker of the next service knows from its start how much is free.
  await filling.stop()
  disk.leaveFree(13 * mebibyte)
  const server = await startServer(t, { ...options, token: filling.token })

  /** @returns how often each status was the answer to many batches at once, each of them to leaves all over the tree */
  async function setMany(count: number): Promise<Record<number, number>> {
    const statuses: Record<number, number> = {}
    await Promise.all(
      Array.from({ length: 18 }, async () => {
        const paths = new Set(Array.from({ length: count }, () => pathOf(random.below(topics))))
        const operations = [...paths].map((path) => ({ op: 'set', path, value: 'another value' }))
        const { status } = await server.connect().post('batch', { operations })
        statuses[status] = (statuses[status] ?? 0) + 1
      }),
    )
    return statuses
  }

  for (let round = 0; round < 5; round++) {
    const statuses = await setMany(round === 0 ? 25 : 500)
    if (round === 0) t.equal(statuses[200], 18, 'small batches wait for each other')
    const free = disk.freeBytes()
    t.strictSame(
      Object.keys(statuses).filter((status) => status !== '200' && status !== '507'),
      [],
      `${JSON.stringify(statuses)}`,
    )
    t.ok(free >= freeBytesMin / 2, `${free} bytes are free`)
  }
  disk.leaveFree(freeBytesMin - 4096)
  await until('none is carried out below the least', async () => ((await setMany(25))[507] === 18 ? true : undefined))
  for (let round = 0; round < 5; round++) {
    const path = pathOf(random.below(topics))
    t.match(await server.client.post('remove', { path }), { status: 200 }, 'removals still are')
  }
  t.match(await server.client.post('remove', { selector: '*tree/000001//' }), { status: 200 }, 'also by selector')
  t.ok(disk.freeBytes() >= mebibyte, `${disk.freeBytes()} bytes are free`)

  disk.leaveFree(256 * mebibyte)
  await until('there is room again', async () => ((await setMany(500))[200] === 18 ? true : undefined))
  t.equal(server.timesLogged('worker died'), 0, 'no worker died')
})
