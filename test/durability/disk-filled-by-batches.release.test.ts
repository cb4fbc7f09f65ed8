/** Batches of small writes, each of which rewrites many pages, do not fill a disk. durability/full-disk fills one with large values. */
import { strict as assert } from 'node:assert'
import { join } from 'node:path'
import t from 'tap'
import { mountSmallDisk, whyNoSmallDisk } from '../support/machines/small-disk.js'
import { seededRandom } from '../support/random.js'
import { startServer, until } from '../support/service/server.js'

const mebibyte = 1024 * 1024

t.test('batches of small writes do not fill a disk', { skip: whyNoSmallDisk() }, async (t) => {
  const freeBytesMin = 8 * mebibyte
  const disk = mountSmallDisk(t, 512 * mebibyte)
  const flags = ['--disk-free-bytes-min', String(freeBytesMin)]
  const options = { workers: 2, dataDir: join(disk.directory, 'db'), flags }
  const filling = await startServer(t, options)
  const random = seededRandom(t)
  const topics = 100_000
  // In path order, so that each commit replaces few pages and the file has few free pages at the end.
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

  // Every worker of the next service knows the free space from its start.
  await filling.stop()
  disk.leaveFree(13 * mebibyte)
  const server = await startServer(t, { ...options, token: filling.token })

  /** Sends concurrent batches, each to leaves all over the tree. @returns the count of each response status */
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
  await until('no batch is executed', async () => ((await setMany(25))[507] === 18 ? true : undefined))
  for (let round = 0; round < 5; round++) {
    const path = pathOf(random.below(topics))
    t.match(await server.client.post('remove', { path }), { status: 200 }, 'removals are still executed')
  }
  t.match(await server.client.post('remove', { selector: '*tree/000001//' }), { status: 200 }, 'removal by selector')
  t.ok(disk.freeBytes() >= mebibyte, `${disk.freeBytes()} bytes are free`)

  disk.leaveFree(256 * mebibyte)
  await until('there is room again', async () => ((await setMany(500))[200] === 18 ? true : undefined))
  t.equal(server.timesLogged('worker died'), 0, 'no worker died')
})
