/** A log that keeps few changes: a client that was offline for longer gets since_gone; any other client continues. */
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { EventSourcePlus } from 'event-source-plus'
import { EventSource } from 'eventsource'
import { createEventSource } from 'eventsource-client'
import t, { type Test } from 'tap'
import { blocksOf, readDocument, sectionOf } from '../support/documents.js'
import { refuses } from '../support/expected-answers.js'
import { type ChangesPage, changesPage, Fold } from '../support/service/changes.js'
import { scrape } from '../support/service/metrics.js'
import { runCommand, startServer, until } from '../support/service/server.js'

const kept = 10

t.test('a token older than the log returns since_gone', async (t) => {
  const server = await startServer(t, { flags: ['--changes-kept', String(kept)] })
  const { client, post } = server
  const first = await changesPage(client, { selector: '*.*' })
  for (let i = 0; i < kept; i++) await post('addAndSet', { path: `a/${i}`, value: i })
  t.equal((await changesPage(client, { selector: '*.*', since: first.next })).results.length, kept, 'the limit')
  for (let i = 0; i < 2; i++) await post('addAndSet', { path: 'b', value: i })
  refuses(t, await post('changes', { selector: '*.*', since: first.next }), 410, 'since_gone', 'since')
  t.equal((await post('changes', { selector: '*.*', since: first.next })).status, 410, 'an outdated token')
  const headers = { accept: 'text/event-stream', 'last-event-id': first.next }
  refuses(t, await post('changes', { selector: '*.*' }, { headers }), 410, 'since_gone', 'since')
  const metrics = await scrape(server.adminUrl)
  t.equal(metrics.value('topicd_changes_gone_total'), 3)
  t.equal(metrics.value('topicd_changes_kept_min'), kept)
  t.ok(metrics.value('topicd_changes_kept') >= kept)
})

t.test('a restored store returns since_gone for tokens issued before the restore', async (t) => {
  const server = await startServer(t)
  const { next } = await changesPage(server.client, { selector: '*.*' })
  const backup = `${server.dataDir}.backup`
  t.equal((await server.command('backup', backup)).code, 0)
  await server.stop()
  const dataDir = `${server.dataDir}.restored`
  mkdirSync(dataDir)
  const restored = await runCommand(['restore', backup, '--data', dataDir])
  t.equal(restored.code, 0, restored.stderr)
  const again = await startServer(t, { dataDir, token: server.token })
  refuses(t, await again.post('changes', { selector: '*.*', since: next }), 410, 'since_gone', 'since')
})

/** An event of a stream, as a library delivers it. */
type OnEvent = (event: string, data: string) => void

/** Functions that follow a stream with each library, until the end of the test. */
const libraries: Readonly<Record<string, (t: Test, url: string, fetch: typeof globalThis.fetch, on: OnEvent) => void>> =
  {
    eventsource(t, url, fetch, on) {
      const source = new EventSource(url, { fetch })
      for (const name of ['message', 'end']) source.addEventListener(name, ({ data }) => on(name, String(data)))
      t.teardown(() => source.close())
    },
    'eventsource-client'(t, url, fetch, on) {
      const source = createEventSource({ url, fetch, onMessage: ({ event = 'message', data }) => on(event, data) })
      t.teardown(() => source.close())
    },
    'event-source-plus'(t, url, fetch, on) {
      const source = new EventSourcePlus(url, { fetch })
      const controller = source.listen({ onMessage: ({ event = 'message', data }) => on(event, data) })
      t.teardown(() => controller.abort())
    },
  }

/** The `fetchChanges` of docs/changes.md, with the names that it refers to. */
function documentedFetch(key: string, fetch: typeof globalThis.fetch, topics: Fold['topics']): typeof globalThis.fetch {
  const [block] = blocksOf(sectionOf(readDocument('docs/changes.md'), 'when-a-stream-ends'), 'js')
  const text = block?.text.replace('const topics = new Map()', '').replace('*plant//', '*.*')
  return new Function('key', 'fetch', 'topics', `${text}\nreturn fetchChanges`)(key, fetch, topics)
}

t.test('libraries that resume automatically drop an outdated event id, and show the current state', async (t) => {
  const { post, token, url } = await startServer(t, { workers: 1, flags: ['--changes-kept', '0'] })
  await post('addAndSet', { path: 'before', value: 1 })
  const cut = new AbortController()
  let isLate = Promise.resolve()
  const followers = Object.entries(libraries).map(([name, follow]) => {
    const fold = new Fold()
    const statuses: number[] = []
    const counted: typeof globalThis.fetch = async (input, init) => {
      await isLate
      const signal = statuses.length === 0 ? cut.signal : (init?.signal ?? null)
      const response = await fetch(input, { ...init, signal })
      statuses.push(response.status)
      return response
    }
    follow(t, `${url}/topics/changes`, documentedFetch(token, counted, fold.topics), (event, data) => {
      if (event === 'message') fold.take(JSON.parse(data) as ChangesPage)
    })
    return { name, statuses, topics: fold.topics }
  })
  for (const { name, topics } of followers)
    await until(`${name} follows`, async () => topics.has('before') || undefined)
  let proceed = () => {}
  isLate = new Promise((resolve) => (proceed = resolve))
  cut.abort(new TypeError('the connection broke'))
  await post('remove', { path: 'before' })
  for (let i = 0; i < 3; i++) await post('addAndSet', { path: 'now', value: i })
  proceed()
  for (const { name, statuses, topics } of followers) {
    await until(`${name} is up to date`, async () => topics.get('now')?.value === 2 || undefined)
    t.strictSame([...topics.keys()], ['now'], name)
    t.strictSame(statuses, [200, 410, 200], name)
  }
})

for (const name of ['eventsource', 'eventsource-client']) {
  t.test(`${name} drops its event id only after an end event that clears it`, async (t) => {
    const ids: (string | undefined)[] = []
    const bodies = ['id: a\ndata: 1\n\n', 'id:\nevent: end\ndata: 1\n\n', 'id: b\ndata: 1\n\nevent: end\ndata: 1\n\n']
    const service = createServer((request, response) => {
      ids.push(request.headers['last-event-id'] as string | undefined)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`retry: 1\n${bodies[ids.length - 1] ?? ''}`)
    }).listen(0, '127.0.0.1')
    await once(service, 'listening')
    t.teardown(() => service.close())
    libraries[name]?.(t, `http://127.0.0.1:${(service.address() as AddressInfo).port}`, fetch, () => {})
    await until('four requests arrive', async () => ids.length >= 4 || undefined)
    t.strictSame(ids.slice(0, 4), [undefined, 'a', undefined, 'b'])
  })
}
