/**
 * How long does a commit hold LMDB's write lock, which all workers share? Overwrites exactly as a worker makes them, in
 * commits of different sizes, one after the other with nothing else in flight, in this process.
 *
 * The time is from the moment at which lmdb has all writes of a commit to the moment at which they are acknowledged. So
 * it contains, beside the time under the lock (writing the pages, the flush), the hand-over to lmdb's thread and back:
 * some tens of µs more than the lock alone, and the bound that follows from it is a little too low.
 */
import { strict as assert } from 'node:assert'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { now } from '../../dist/store/clock.js'
import { openEnvironment } from '../../dist/store/lmdb/environment.js'
import { createWrites } from '../../dist/store/lmdb/writes.js'
import type { TopicStore } from '../../dist/store/store.js'
import type { Path } from '../../dist/topics/path.js'
import type { Server } from '../servers/server.js'
import type { Tree } from '../workloads/tree.js'
import { type Spread, spread } from './statistics.js'

type Write = TopicStore['write']

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
    const { commits, write } = createWrites(environment, now, (reason) => {
      throw reason
    })
    try {
      for (let round = 0; round < warmUpRounds; round++) await oneRound(write, tree, round)
      const measured: number[][] = []
      for (let round = 0; round < rounds; round++) measured.push(await oneRound(write, tree, round))
      return sizes.map((writes, i) => ({ writes, microseconds: spread(measured.flatMap((times) => times[i] ?? [])) }))
    } finally {
      await commits.close()
      await environment.root.close()
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** The µs of one commit of each size. */
async function oneRound(write: Write, tree: Tree, round: number): Promise<number[]> {
  const times: number[] = []
  for (const size of sizes) times.push(await timeCommit(write, tree, size, round))
  return times
}

/** Overwrites random topics in one transaction. @returns its µs */
async function timeCommit(write: Write, tree: Tree, size: number, round: number): Promise<number> {
  const operations = tree.sample(size, size + 1000 * round).map((index) => {
    const valueText = Buffer.from(tree.value(index, 1 + (round % 9)))
    return { kind: 'set', path: tree.path(index) as Path, type: 'json', valueText } as const
  })
  const startMs = performance.now()
  const results = await Promise.all(operations.map((operation) => write([operation])))
  const ms = performance.now() - startMs
  assert(
    results.every((result) => Array.isArray(result)),
    'every topic exists, so no write is refused',
  )
  return ms * 1000
}
