/**
 * A scan in slices while others write around it: what stands throughout is found exactly once and in order, whatever comes
 * and goes between the slices; and no snapshot is held from one slice to the next, so the file does not grow because of it.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { now } from '../../dist/store/clock.js'
import { BulkRemoval } from '../../dist/store/lmdb/bulk-removal.js'
import { Commits } from '../../dist/store/lmdb/commits.js'
import { openEnvironment } from '../../dist/store/lmdb/environment.js'
import { createSnapshots } from '../../dist/store/lmdb/fresh-snapshots.js'
import { PageScan } from '../../dist/store/lmdb/page-scan.js'
import { Reads } from '../../dist/store/lmdb/reads.js'
import { walk } from '../../dist/store/lmdb/walk.js'
import { Writes } from '../../dist/store/lmdb/writes.js'
import type { TopicStore } from '../../dist/store/store.js'
import type { Path } from '../../dist/topics/path.js'
import { everyTopic } from '../../dist/topics/range.js'
import { treeOrder } from '../support/model.js'
import { type Random, seededRandom } from '../support/random.js'
import { load, openStore, planned, readItems, spin, watched } from '../support/store.js'

const groups = 150

/** Topics that stand throughout: four in each group. */
function standing(): string[] {
  return Array.from({ length: groups }, (_, i) => ['', '/m', '/m/x', '/temp'].map((member) => `g${i}${member}`)).flat()
}

/** Adds and removes topics beside, below and between those that stand, until told to end; answers how many. */
async function disturb(store: TopicStore, random: Random, ended: () => boolean): Promise<number> {
  const near = ['/a', '/m/w', '/m/y', '/t', '/temp/x', '!', '/temp!']
  const there = new Set<string>()
  let writes = 0
  while (!ended()) {
    const batch = new Set(Array.from({ length: 8 }, () => `g${random.below(groups)}${random.pick(near)}`))
    await Promise.all(
      [...batch].map(async (path) => {
        writes++
        if (there.delete(path)) return void (await store.remove(path as Path))
        there.add(path)
        await store.addAndSet(
          { path: path as Path, type: 'json', properties: {}, removal: undefined },
          Buffer.from(JSON.stringify(path)),
        )
      }),
    )
  }
  return writes
}

for (const selector of ['?.*//', '?.*/temp', '*g[0-9]+.*', '#?.*/m//////?.*/temp']) {
  t.test(`while others write, ${selector} finds what stands exactly once, in order`, async (t) => {
    const random = seededRandom(t)
    const store = openStore(t, join(t.testdir(), 'db'))
    const paths = standing()
    await load(store, paths)
    const { ranges, matcher } = planned(selector)
    const before = await readItems(store, { plan: { ranges, matcher } })
    const wanted = before.items.map(({ path }) => path)
    t.ok(wanted.length >= groups, `${wanted.length} stand`)

    let done = false
    const disturbed = disturb(store, random, () => done)
    let slices = 0
    const found: string[] = []
    for (const size of [1000, 1000, 17]) {
      // The commits of others come back between the slices, so each must have some time to itself.
      const plan = watched({ ranges, matcher }, () => {
        if (!random.oneIn(8)) return
        slices++
        spin(1.5)
      })
      found.length = 0
      for (let after: string | undefined; ; ) {
        const { items, hasMore } = await readItems(store, { plan, after, size })
        found.push(...items.map(({ path }) => path))
        if (!hasMore) break
        after = items.at(-1)?.path
      }
      t.strictSame(
        [...new Set(found)].sort(treeOrder),
        found,
        `in pages of ${size}, ${found.length} in order, none twice`,
      )
      const missed = wanted.filter((path) => !found.includes(path))
      t.strictSame(missed, [], 'nothing that stood was missed')
    }
    done = true
    const writes = await disturbed
    t.ok(writes > 20 && slices > 30, `${writes} writes beside ${slices} slices`)
  })
}

/** The engine's parts, put together as it does itself, with its environment in sight. */
function openParts(t: Test) {
  const directory = join(t.testdir(), 'db')
  mkdirSync(directory)
  const environment = openEnvironment(directory)
  const pageScan = new PageScan(environment)
  const commits = new Commits(() => {})
  const snapshots = createSnapshots(environment.freshen, () => 0)
  t.teardown(async () => {
    await commits.close()
    await environment.root.close()
  })
  const { readPage } = new Reads(environment, snapshots, pageScan)
  const writes = new Writes(environment, snapshots, commits, now)
  const { removeMatches } = new BulkRemoval(environment.specifications, snapshots, writes)
  /** Whether this process holds a snapshot now: a row of LMDB's readers whose transaction is a number. */
  const holds = (): boolean => /\d+ +[0-9a-f]+ +\d+\n/.test(environment.root.readerList() as unknown as string)
  return { environment, readPage, writes, removeMatches, holds }
}

t.test('no snapshot is held between the slices of a scan or a bulk removal', async (t) => {
  const { environment, readPage, writes, removeMatches, holds } = openParts(t)
  await load(writes as Partial<TopicStore> as TopicStore, standing())
  await new Promise(setImmediate)
  t.notOk(holds(), 'nobody reads yet')

  /** Looks once a turn, after the slices of the turn have run. */
  async function snapshotsDuring(work: Promise<unknown>): Promise<{ held: number; looks: number }> {
    let ended = false
    void work.finally(() => (ended = true))
    let held = 0
    let looks = 0
    for (; !ended; looks++) {
      await new Promise((resolve) => setTimeout(resolve, 0))
      if (holds()) held++
    }
    return { held, looks }
  }

  const slow = watched(planned('*.*/nothing'), () => spin(0.4))
  const scan = await snapshotsDuring(readItems({ readPage }, { plan: slow }))
  t.ok(scan.looks > 20, `${scan.looks} looks while a scan ran`)
  t.equal(scan.held, 0, 'none of them saw a snapshot')

  const removing = watched(planned('?.*/m'), () => spin(0.4))
  const removal = await snapshotsDuring(removeMatches(removing, { cancelled: false }))
  t.ok(removal.looks > 20, `${removal.looks} looks while a removal ran`)
  t.equal(removal.held, 0, 'none of them saw a snapshot')

  await t.test('the look can fail: a walk over a consistent cut is seen to hold its snapshot', async (t) => {
    const cut = walk(environment, { ranges: [everyTopic], matcher: undefined }, { cancelled: false })
    await cut.next()
    t.ok(holds(), 'in the middle of the walk')
    await cut.return(undefined)
    environment.freshen()
    t.notOk(holds(), 'after it')
  })
})
