/**
 * A scan in slices during concurrent writes finds topics that exist throughout exactly once and in order, regardless of additions and
 * removals between the slices. No snapshot is held between slices, so no scan grows the file.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { now } from '../../dist/base/clock.js'
import { Reads } from '../../dist/store/core/read/reads.js'
import { Matches } from '../../dist/store/core/removal/matches.js'
import { createWriting } from '../../dist/store/lmdb/commit/writing.js'
import { openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { createEngine } from '../../dist/store/lmdb/view/engine.js'
import { createItemRanges } from '../../dist/store/lmdb/view/item-ranges.js'
import { createSnapshots } from '../../dist/store/lmdb/view/read-freshness.js'
import { LmdbView } from '../../dist/store/lmdb/view/view.js'
import type { TopicStore } from '../../dist/store/store.js'
import { Receipts } from '../../dist/store/writer/receipts.js'
import type { Path } from '../../dist/topics/path.js'
import { treeOrder } from '../support/models/model.js'
import { type Random, seededRandom } from '../support/random.js'
import { creation, load, openStore, planned, readItems, single, spin, watched } from '../support/stores/store.js'

const groups = 150

/** Topics that exist throughout: four in each group. */
function lasting(): string[] {
  return Array.from({ length: groups }, (_, i) => ['', '/m', '/m/x', '/temp'].map((member) => `g${i}${member}`)).flat()
}

/** Adds and removes topics next to, below and between the lasting ones until `ended`; returns the number of writes. */
async function disturb(store: TopicStore, random: Random, ended: () => boolean): Promise<number> {
  const near = ['/a', '/m/w', '/m/y', '/t', '/temp/x', '!', '/temp!']
  const existing = new Set<string>()
  let writes = 0
  while (!ended()) {
    const batch = new Set(Array.from({ length: 8 }, () => `g${random.below(groups)}${random.pick(near)}`))
    await Promise.all(
      [...batch].map(async (path) => {
        writes++
        if (existing.delete(path)) return void (await single.remove(store, path as Path))
        existing.add(path)
        await single.addAndSet(store, creation(path), Buffer.from(JSON.stringify(path)))
      }),
    )
  }
  return writes
}

for (const selector of ['?.*//', '?.*/temp', '*g[0-9]+.*', '#?.*/m//////?.*/temp']) {
  t.test(`${selector} finds lasting topics exactly once and in order during concurrent writes`, async (t) => {
    const random = seededRandom(t)
    const store = openStore(t, join(t.testdir(), 'db'))
    const paths = lasting()
    await load(store, paths)
    const { ranges, matcher } = planned(selector)
    const before = await readItems(store, { plan: { ranges, matcher } })
    const wanted = before.items.map(({ path }) => path)
    t.ok(wanted.length >= groups, `${wanted.length} lasting topics match`)

    let done = false
    const disturbed = disturb(store, random, () => done)
    let slices = 0
    const found: string[] = []
    for (const size of [1000, 1000, 17]) {
      // Commits complete between the slices, so there must be many slices, each long enough.
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
      t.strictSame(missed, [], 'no lasting topic is missed')
    }
    done = true
    const writes = await disturbed
    t.ok(writes > 20 && slices > 30, `${writes} writes during ${slices} slices`)
  })
}

/** The parts of the engine, assembled as in the engine, with access to its environment. */
function openParts(t: Test) {
  const directory = join(t.testdir(), 'db')
  mkdirSync(directory)
  const environment = openEnvironment(directory)
  const snapshots = createSnapshots(environment.freshen, () => 0)
  const view = new LmdbView(environment, createItemRanges(environment))
  const options = { clock: now, onBroken: t.fail, room: undefined, changesKept: undefined }
  const { commits, write, follow } = createWriting(environment, view, { ...options, receipts: new Receipts([]) })
  const engine = createEngine(environment, view, snapshots, follow)
  t.teardown(async () => {
    await commits.close()
    await environment.root.close()
  })
  const { readPage } = new Reads(engine)
  const { removeMatches } = new Matches(engine, write)
  /** Whether this process holds a snapshot now: a row in LMDB's table of readers whose transaction is a number. */
  const holdsSnapshot = (): boolean => /\d+ +[0-9a-f]+ +\d+\n/.test(environment.root.readerList() as unknown as string)
  return { readPage, write, removeMatches, holdsSnapshot }
}

t.test('scans and bulk removals hold no snapshot between slices', async (t) => {
  const { readPage, write, removeMatches, holdsSnapshot } = openParts(t)
  await load({ write }, lasting())
  await new Promise(setImmediate)
  t.notOk(holdsSnapshot(), 'no snapshot is held before the first read')

  /** Checks once per turn, after the slices of that turn have run. */
  async function snapshotsDuring(work: Promise<unknown>): Promise<{ held: number; checks: number }> {
    let ended = false
    void work.finally(() => (ended = true))
    let held = 0
    let checks = 0
    for (; !ended; checks++) {
      await new Promise((resolve) => setTimeout(resolve, 0))
      if (holdsSnapshot()) held++
    }
    return { held, checks }
  }

  const slow = watched(planned('*.*/nothing'), () => spin(0.4))
  const scan = await snapshotsDuring(readItems({ readPage }, { plan: slow }))
  t.ok(scan.checks > 20, `${scan.checks} checks while a scan ran`)
  t.equal(scan.held, 0, 'no check found a snapshot')

  const removing = watched(planned('?.*/m'), () => spin(0.4))
  const removal = await snapshotsDuring(removeMatches(removing, { aborted: false }))
  t.ok(removal.checks > 20, `${removal.checks} checks while a removal ran`)
  t.equal(removal.held, 0, 'no check found a snapshot')
})
