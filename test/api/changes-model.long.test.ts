/**
 * A model of what clients are told of changes: writers change a tree at random, clients follow it by polls and streams, and
 * workers and writers are killed meanwhile. Nobody is shown a topic that goes back, a part of a batch, or a state that
 * lacks an acknowledged change; and in the end each has exactly what a fetch returns. SECONDS=600 runs longer.
 */
import { strict as assert } from 'node:assert'
import t, { type Test } from 'tap'
import { ChangeReader, type Interest } from '../support/load/change-reader.js'
import { ChangingTree, pause } from '../support/load/changing-tree.js'
import { reportResults } from '../support/proof-results.js'
import { type Random, seededRandom } from '../support/random.js'
import type { ChangedItem } from '../support/service/changes.js'
import { type Server, startServer } from '../support/service/server.js'
import { eachKind } from '../support/stores/stores.js'

const seconds = Number(process.env.SECONDS ?? 15)
const readers = 16

t.setTimeout((4 * seconds + 240) * 1000)

const interests: readonly Interest[] = [
  { selector: '?.*//', type: 'any', size: 1000 },
  { selector: '?.*//', type: 'json', size: 7 },
  { selector: '*count//', type: 'json', size: 3 },
  { selector: '*batch//', type: 'json', size: 2 },
  { selector: '?passing/[02]/.*5//', type: 'any', size: 4 },
  { selector: '?passing//', type: 'string', size: 10 },
  { selector: '?passing//', type: 'any', size: 1, with_values: false },
  { selector: '#>count/1////*batch/one//', type: 'json', size: 5 },
]

await eachKind(t, async (t, kind, makeStore) => {
  const random = seededRandom(t)
  const server = await startServer(t, { workers: 3, store: await makeStore() })
  const limited = await server.addKey('limited', { under: ['count', 'passing/1'], allow: ['fetch'] })
  const tree = new ChangingTree(() => server.connect(), random)
  const all = Array.from({ length: readers }, (_, i) => {
    const interest = interests[i % interests.length] as Interest
    const token = i % 5 === 4 ? limited : server.token
    return { interest, token, reader: new ChangeReader(server, tree, interest, random, token, i % 2 === 1) }
  })
  const kills = await disturb(server, random, kind === 'lmdb')
  await tree.stop()
  // What is due is removed by then.
  await pause(7000)
  await Promise.all(all.map(({ reader }) => reader.stop()))
  t.strictSame(tree.wrong, [])
  for (const { interest, token, reader } of all) {
    const name = JSON.stringify(interest)
    t.strictSame(reader.wrong.slice(0, 5), [], name)
    t.strictSame([...reader.fold.topics.values()].sort(byPath), await fetched(t, server, interest, token), name)
    t.ok(reader.completions > 0, `${reader.completions} times complete`)
  }
  const sum = (count: (reader: ChangeReader) => number): number =>
    all.reduce((total, { reader }) => total + count(reader), 0)
  reportResults(t, {
    writes: tree.writes,
    results: sum(({ results }) => results),
    completions: sum(({ completions }) => completions),
    broken: sum(({ broken }) => broken),
    kills,
  })
})

/** Kills workers and writers, or reloads. @returns how many processes were killed */
async function disturb(server: Server, random: Random, hasWriter: boolean): Promise<number> {
  let kills = 0
  for (const endMs = Date.now() + seconds * 1000; Date.now() < endMs; ) {
    await pause(1000 + random.below(2000))
    const writer = hasWriter && random.oneIn(2) ? server.writerPid() : undefined
    const victim = writer ?? random.pick(server.workerPids())
    if (server.workerPids().length < 3) continue
    try {
      process.kill(victim, 'SIGKILL')
      kills++
    } catch {
      // It had just ended.
    }
  }
  return kills
}

function byPath({ path: a }: ChangedItem, { path: b }: ChangedItem): number {
  return a < b ? -1 : 1
}

async function fetched(t: Test, server: Server, interest: Interest, token: string): Promise<readonly ChangedItem[]> {
  const items: ChangedItem[] = []
  for (let after: string | undefined, hasMore = true; hasMore; ) {
    const { status, text } = await server.post(
      'fetch',
      { ...interest, with_version: true, size: 500, after },
      { token },
    )
    t.equal(status, 200, text)
    const page = JSON.parse(text) as { has_more: boolean; results: readonly ChangedItem[] }
    items.push(...page.results)
    hasMore = page.has_more
    after = page.results.at(-1)?.path
  }
  assert(new Set(items.map(({ path }) => path)).size === items.length)
  return items.sort(byPath)
}
