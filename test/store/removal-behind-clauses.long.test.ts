/**
 * Topics that fall due while the `remove` clauses of other policies are carried out wait for none of them: through the
 * service, on its only worker, over each store.
 *
 * Each clause tries a pattern that is slow by itself on every topic below `many` and finds nothing there; then it
 * removes a topic of its own, which tells that it is done. So the test knows, once the other topics are gone, that
 * clauses were left, and that they were going on.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import type { Client, FetchedPage } from '../support/client.js'
import { runCommand, startServer, until } from '../support/server.js'
import { eachStore } from '../support/stores.js'

const lateMsMax = 5000

/** How long all the clauses take together, at least: a topic that waited for them would be removed far too late. */
const clausesMsMin = 3 * lateMsMax
const clausesMin = 20

/** No automaton of it fits into memory for names like those below, so that it takes about 50 µs on each of them. */
const slow = '*many/.*[0-7].{30}no-such-name'
const many = Array.from({ length: 3000 }, (_, i) => {
  return `many/${createHash('shake256', { outputLength: 300 }).update(String(i)).digest('hex')}`
})

/** From when the topics that must not wait are created until they are due: clauses, due at once, run by then. */
const soonMs = 3000

async function create(client: Client, path: string, removal?: string): Promise<void> {
  const properties = removal === undefined ? {} : { REMOVAL: removal }
  const { status, text } = await client.post('addAndSet', { path, value: 1, properties })
  if (status !== 200) throw new Error(`${path} was answered ${status}: ${text}`)
}

/** How long a clause's scan takes, in ms: the shortest of a few, since a clause may be as quick. */
async function scanMs(client: Client): Promise<number> {
  let shortestMs = Infinity
  for (let scan = 0; scan < 3; scan++) {
    const startedAt = performance.now()
    const { text } = await client.post('fetch', { selector: slow })
    if (text !== '{"has_more":false,"results":[]}') throw new Error(`${slow} was answered ${text}`)
    shortestMs = Math.min(shortestMs, performance.now() - startedAt)
  }
  return shortestMs
}

/** How many clauses are not done: each removes its own target in the end. */
async function clausesLeft(client: Client): Promise<number> {
  const { text } = await client.post('fetch', { selector: '*target/', size: 1000 })
  return (JSON.parse(text) as FetchedPage).results.length
}

/** When the topic was first found gone, by this machine's clock. */
async function goneAt(client: Client, path: string): Promise<number> {
  return until(`${path} gone`, async () => {
    const { code } = await client.post('fetch', { path })
    return code === 'no_such_topic' ? Date.now() : undefined
  })
}

await eachStore(t, async (t, store) => {
  const dataDir = join(t.testdir(), 'db')
  const lines = many.map((path) => `{"path":"${path}","value":1}\n`).join('')
  const imported = await runCommand(['import', '--data', dataDir], { TOPICD_STORE: store }, lines)
  if (imported.code !== 0) throw new Error(imported.stderr)
  const server = await startServer(t, { store, dataDir })
  const client = server.connect(16)
  const clauseMs = await scanMs(client)
  const clauses = Math.max(clausesMin, Math.ceil(clausesMsMin / clauseMs))
  const each = Array.from({ length: clauses }, (_, i) => i)
  await Promise.all(each.map((i) => create(client, `target/${i}`)))
  const clause = (i: number): string => `when time after 0 remove '#${slow}////>target/${i}'`
  await Promise.all(each.map((i) => create(client, `guard/${i}`, clause(i))))
  const dueMs = Date.now() + soonMs
  await create(client, 'plain/time', `when time after ${dueMs}`)
  await create(client, 'plain/idle', `when no updates for ${soonMs / 1000}s`)
  const idleDueMs = Date.now() + soonMs
  const [timeGoneMs, idleGoneMs] = await Promise.all([goneAt(client, 'plain/time'), goneAt(client, 'plain/idle')])
  const left = await clausesLeft(client)
  t.ok(timeGoneMs - dueMs <= lateMsMax, `a point in time: gone ${timeGoneMs - dueMs} ms after it`)
  t.ok(idleGoneMs - idleDueMs <= lateMsMax, `a time without updates: gone ${idleGoneMs - idleDueMs} ms after it`)
  t.ok(left > 0, `of ${clauses} clauses that take about ${clauseMs.toFixed()} ms each ${left} are left`)
  const another = async (): Promise<true | undefined> => ((await clausesLeft(client)) < left ? true : undefined)
  if (left > 0) await until('another clause carried out', another)
})
