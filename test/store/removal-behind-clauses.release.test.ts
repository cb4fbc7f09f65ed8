/**
 * Topics that fall due while the `remove` clauses of other policies are being executed do not wait for them: tested
 * through the service, with one worker, over each store.
 *
 * Each clause tries a slow pattern on every topic below `many`, which matches none of them, and then removes a target
 * of its own, which shows that the clause has ended. So the test can check, once the due topics are gone, that some
 * clauses were still waiting and that they continued.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import type { Client, FetchedPage } from '../support/service/client.js'
import { runCommand, startServer, until } from '../support/service/server.js'
import { eachStore } from '../support/stores/stores.js'

const lateMsMax = 5000

/** The least that all clauses take together: a topic that waited for them would be removed far too late. */
const clausesMsMin = 3 * lateMsMax
const clausesMin = 20

/** Its automaton does not fit into memory for names like those below, so it takes about 50 µs for each of them. */
const slow = '*many/.*[0-7].{30}no-such-name'
const many = Array.from({ length: 3000 }, (_, i) => {
  return `many/${createHash('shake256', { outputLength: 300 }).update(String(i)).digest('hex')}`
})

/** From the creation of the topics that must not wait until they are due; the clauses, due at once, run by then. */
const soonMs = 3000

async function create(client: Client, path: string, removal?: string): Promise<void> {
  const properties = removal === undefined ? {} : { REMOVAL: removal }
  const { status, text } = await client.post('addAndSet', { path, value: 1, properties })
  if (status !== 200) throw new Error(`${path} was answered ${status}: ${text}`)
}

/** How long a clause's scan takes, in ms: the shortest of a few, since a clause may be that fast. */
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

/** How many clauses have not ended: each removes its own target last. */
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
  const imported = await runCommand(['import', '--allow-unfinished', '--data', dataDir], { TOPICD_STORE: store }, lines)
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
  t.ok(timeGoneMs - dueMs <= lateMsMax, `the topic with a point in time goes ${timeGoneMs - dueMs} ms late`)
  t.ok(idleGoneMs - idleDueMs <= lateMsMax, `the topic without updates goes ${idleGoneMs - idleDueMs} ms late`)
  t.ok(left > 0, `${left} of ${clauses} clauses, each of about ${clauseMs.toFixed()} ms, still wait then`)
  const another = async (): Promise<true | undefined> => ((await clausesLeft(client)) < left ? true : undefined)
  if (left > 0) await until('another clause ended', another)
})
