/**
 * While the only worker handles many requests of one kind, another client's fetch by path waits for a few slices, not for
 * the requests. The pattern takes several milliseconds for each of the paths, which have the maximum length.
 */
import t from 'tap'
import { OtherClient } from '../support/load/other-client.js'
import { ChangesStream, changesPage } from '../support/service/changes.js'
import type { Answer, Body } from '../support/service/client.js'
import { type Server, startServer } from '../support/service/server.js'
import { eachStore } from '../support/stores/stores.js'

/** Concurrent requests of one kind. */
const together = 40

/** The other client's maximum wait, in ms or, on a slow machine, as a share of the total time of the requests. */
const waitMsMax = 500
const waitShareMax = 1 / 4

const selector = '?l/(a|b)*a(a|b){110}'
const longest = Array.from({ length: 17 }, (_, i) => `l/${'a'.repeat(1956)}${i + 10}`)
const many = Array.from({ length: 1000 }, (_, i) => `m/${i}`)

/** The lines of an upload, or the operations of a batch, that set every topic. */
const operations = [...longest, ...many].map((path) => ({ op: 'addAndSet', path, value: path }))
const upload = operations.map((operation) => `${JSON.stringify(operation)}\n`).join('')

/** Sends one request and resolves when the response has arrived. */
type Send = () => Promise<unknown>

function kindsOf(server: Server, since: string): Readonly<Record<string, Send>> {
  const clients = server.connect(together)
  const ask = (route: string, body: Body, headers = {}): Send => {
    return () => clients.post(route, body, { headers }).then(expectAnswer)
  }
  const open = (body: object): Send => {
    return async () => {
      const stream = await ChangesStream.open(server, body)
      await stream.complete('the state')
      stream.close()
    }
  }
  return {
    'pages of a pattern': ask('fetch', { selector }),
    'pages of branches': ask('fetch', { selector, deep_branch_depth: 2, deep_branch_limit: 1 }),
    counts: ask('fetch', { selector, count: true }),
    'fetches of many paths': ask('fetch', { paths: many, with_properties: true, with_version: true, type: 'any' }),
    'dry runs of removals': ask('remove', { selector, dry_run: true }),
    batches: ask('batch', { operations: operations.slice(-1000) }),
    uploads: ask('batch', upload, { 'content-type': 'application/x-ndjson' }),
    'first pages of changes': ask('changes', { selector }),
    'later pages of changes': ask('changes', { selector, since }),
    'new streams': open({ selector }),
  }
}

/** With this many concurrent uploads or batches, some may get 503, which also counts as a response. */
function expectAnswer({ status, text }: Answer): void {
  if (status !== 200 && status !== 503) throw new Error(`${status} ${text}`)
}

async function timeOf(send: Send): Promise<number> {
  const startMs = performance.now()
  await send()
  return performance.now() - startMs
}

await eachStore(t, async (t, store) => {
  const server = await startServer(t, { store })
  const { next: since } = await changesPage(server, { selector, since: 'now' })
  expectAnswer(await server.post('batch', upload, { headers: { 'content-type': 'application/x-ndjson' } }))
  const other = new OtherClient(t, server, server.token, 'fetch', { path: 'm/1' })
  await other.seen(1)
  for (const [name, send] of Object.entries(kindsOf(server, since))) {
    const seen: string[] = []
    const isServed = async (): Promise<boolean> => {
      await other.seen(1)
      const togetherMs = await timeOf(() => Promise.all(Array.from({ length: together }, send)))
      const { maxMs, faults } = await other.seen(1)
      t.same(faults, [], `no fault alongside ${together} ${name}`)
      seen.push(`${Math.round(maxMs)} ms of ${Math.round(togetherMs)}`)
      return maxMs < Math.max(waitMsMax, waitShareMax * togetherMs)
    }
    // A busy machine may also delay a fetch, but hardly in each of three rounds.
    const isOnceServed = (await isServed()) || (await isServed()) || (await isServed())
    t.ok(isOnceServed, `alongside ${together} ${name}, a fetch waits at most ${seen}`)
  }
})
