/**
 * How long does a commit hold LMDB's write lock, which all workers share? Overwrites exactly as a worker passes them to
 * lmdb, in commits of different sizes, one after the other with nothing else in flight, in this process.
 *
 * The time is from the moment at which lmdb has all writes of a commit to the moment at which they are acknowledged. So
 * it contains, beside the time under the lock (writing the pages, the flush), the hand-over to lmdb's thread and back:
 * some tens of µs more than the lock alone, and the bound that follows from it is a little too low.
 */
import { strict as assert } from 'node:assert'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Environment, openEnvironment, plainVersion } from '../../dist/store/lmdb/environment.js'
import { putItem, Slabs } from '../../dist/store/lmdb/slab.js'
import type { Path } from '../../dist/topics/path.js'
import type { Server } from '../servers/server.js'
import type { Tree } from '../workloads/tree.js'
import { type Spread, spread } from './statistics.js'

/** Writes in a commit. */
const sizes = [1, 16, 64, 256]

/** Rounds of one commit of each size that do not count, so that all code is compiled. */
const warmUpRounds = 20

/** The times of the commits of one size, in µs. */
export interface CommitTimes {
  readonly writes: number
  readonly microseconds: Spread
}

/**
 * Measures commits on a fresh store that holds the tree, round after round one of each size.
 *
 * @param server loads the tree in the format of this build
 * @param parent where the store's directory is made; it is removed at the end
 */
export async function measureCommits(
  server: Server,
  tree: Tree,
  parent: string,
  rounds: number,
): Promise<CommitTimes[]> {
  const directory = await mkdtemp(join(parent, 'write-lock-'))
  try {
    assert(server.load !== undefined, 'this build has an import')
    await server.load(tree, directory)
    const environment = openEnvironment(join(directory, 'data'))
    try {
      for (let round = 0; round < warmUpRounds; round++) await oneRound(environment, tree, round)
      const measured: number[][] = []
      for (let round = 0; round < rounds; round++) measured.push(await oneRound(environment, tree, round))
      return sizes.map((writes, i) => ({ writes, microseconds: spread(measured.flatMap((times) => times[i] ?? [])) }))
    } finally {
      await environment.root.close()
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** The µs of one commit of each size. */
async function oneRound(environment: Environment, tree: Tree, round: number): Promise<number[]> {
  const times: number[] = []
  for (const size of sizes) times.push(await timeCommit(environment, tree, size, round))
  return times
}

/** Overwrites random topics in one transaction. @returns its µs */
async function timeCommit({ root, items }: Environment, tree: Tree, size: number, round: number): Promise<number> {
  const slabs = new Slabs()
  const writes = tree.sample(size, size + 1000 * round).map((index) => {
    const path = tree.path(index) as Path
    return { path, item: slabs.item(path, 'json', Buffer.from(tree.value(index, 1 + (round % 9)))) }
  })
  const startMs = performance.now()
  await root.transaction(() => {
    for (const { path, item } of writes) putItem(items.json, path, item, plainVersion)
  })
  return (performance.now() - startMs) * 1000
}
