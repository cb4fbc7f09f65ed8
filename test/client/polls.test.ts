/** The client's polls if a proxy buffers streams: their waits, their time limits, and how long they replace the stream. */
import t from 'tap'
import { connect } from '../../dist/client/index.js'
import { until } from '../support/service/server.js'
import { type Stub, type StubAnswer, startStub } from '../support/service/stub.js'
import { skippableTime } from '../support/skipped-time.js'

/** The response of a proxy that does not support streams. */
const heldBack = { headers: { 'content-type': 'application/json' }, text: '{}' }

/** A page with one topic; its path and `next` are the page's number. */
function page(number: number, hasMore = false): StubAnswer {
  return { text: `{"has_more":${hasMore},"results":[{"path":"${number}","type":"json","value":1}],"next":"${number}"}` }
}

interface Asked {
  readonly since?: string
  readonly wait?: number
}

/** The members of the polls' requests. */
function polls({ requests }: Stub): readonly Asked[] {
  const asked = requests.filter(({ headers }) => headers.accept !== 'text/event-stream')
  return asked.map(({ text }) => JSON.parse(text) as Asked)
}

t.test('a poll waits only after the last page', async (t) => {
  const answers: readonly StubAnswer[] = [
    page(1, true),
    page(2, true),
    page(3),
    { status: 410, text: '{"code":"since_gone","message":"x"}' },
    page(5),
    page(6),
  ]
  for (const since of [undefined, 'now', '17']) {
    let polled = 0
    const stub = await startStub(t, ({ headers }) =>
      headers.accept === 'text/event-stream' ? heldBack : (answers[polled++] ?? 'be silent'),
    )
    for await (const change of connect(stub.url, { key: 'k' }).changes('*.*', { since }))
      if (change.kind === 'topic' && change.path === '6') break
    t.strictSame(
      polls(stub).map(({ since, wait }) => [since, wait]),
      [
        [since, 0],
        ['1', 0],
        ['2', 0],
        ['3', 30],
        [undefined, 0],
        ['5', 30],
      ],
    )
  }
})

t.test('a poll over a dead connection fails after its own time limit', async (t) => {
  const { setTimeout } = globalThis
  const timeoutMs = 123_456
  const timers: { readonly ms: number | undefined; readonly callback: () => void }[] = []
  globalThis.setTimeout = ((callback: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    timers.push({ ms, callback: () => callback(...args) })
    return setTimeout(callback, ms, ...args)
  }) as typeof setTimeout
  t.teardown(() => Object.assign(globalThis, { setTimeout }))
  let polled = 0
  const stub = await startStub(t, ({ headers }) => {
    if (headers.accept === 'text/event-stream') return heldBack
    return [page(1), 'be silent' as const, page(3)][polled++] ?? 'be silent'
  })
  const seen: string[] = []
  const live = connect(stub.url, { key: 'k', timeoutMs }).follow('*.*')
  t.teardown(() => live.close())
  live.addEventListener('change', () => seen.push([...live.topics.keys()].join()))
  await until('the poll without a response', async () => polled === 2 || undefined)
  t.equal(timers.filter(({ ms }) => ms === timeoutMs).length, 1, 'the time limit of `ready`, but none for a request')
  for (const { ms, callback } of timers) if (ms === 40_000) callback()
  await until('the poll after it', async () => seen.length === 2 || undefined)
  t.strictSame(seen, ['1', '1,3'])
  t.match(polls(stub)[2], { since: '1' })
})

t.test('after ten minutes of polls, a stream is tried again from the last position of the polls', async (t) => {
  const time = skippableTime(t)
  const text = (number: number) =>
    `{"has_more":false,"results":[{"path":"${number}","type":"json"}],"next":"${number}"}`
  const stub = await startStub(t, ({ headers }, index) => {
    if (headers.accept !== 'text/event-stream') return { text: text(index) }
    if (index === 0 || index === 4) return heldBack
    return { headers: { 'content-type': 'text/event-stream' }, text: `data: ${text(index)}\n\n` }
  })
  const paths: string[] = []
  for await (const change of connect(stub.url, { key: 'k' }).changes('*.*')) {
    if (change.kind !== 'topic') continue
    paths.push(change.path)
    if (change.path === '2') time.pass(300_000)
    if (change.path === '3' || change.path === '6') time.pass(601_000)
    if (paths.length === 6) break
  }
  t.strictSame(paths, ['1', '2', '3', '5', '6', '7'])
  t.strictSame(
    stub.requests.map(({ headers, text }) => [
      headers.accept === 'text/event-stream' ? 'stream' : 'poll',
      (JSON.parse(text) as Asked).since,
    ]),
    [
      ['stream', undefined],
      ['poll', undefined],
      ['poll', '1'],
      ['poll', '2'],
      ['stream', '3'],
      ['poll', '3'],
      ['poll', '5'],
      ['stream', '6'],
    ],
  )
})
