/**
 * Exchanges that wait for a promise: their time limit, the waiting time that counts, and their place in the limits until it settles.
 */

import type { HttpResponse } from 'uWebSockets.js'
import t from 'tap'
import type { Answer, Answered, Ongoing, Service } from '../../dist/http/answer.js'
import { Exchanges } from '../../dist/http/exchange.js'
import type { Responses } from '../../dist/http/response.js'
import { requestText } from '../support/service/raw.js'
import { serveRoutes } from '../support/service/served.js'
import { until } from '../support/service/server.js'
import { skippableTime } from '../support/skipped-time.js'
import { turn } from '../support/turns.js'

const refusal: Answer = { status: 503, body: '', cause: 'timed_out' }

/** Exchanges, and the responses that they have sent. */
function makeExchanges() {
  const sent: Answer[] = []
  const measuredMs: number[] = []
  const service = {
    refusal: () => refusal,
    answered: ({ startMs, endMs }: Answered<object>) => void measuredMs.push(endMs - startMs),
    answerForError: () => undefined,
  }
  const responses = { hasRoom: () => true, send: (_: unknown, answer: Answer) => void sent.push(answer) }
  const exchanges = new Exchanges(service as unknown as Service<object>, responses as unknown as Responses)
  const res = { cork: (send: () => void) => send() } as unknown as HttpResponse
  return { exchanges, sent, measuredMs, open: (bytesIn = 0) => exchanges.open(res, undefined, bytesIn) }
}

t.test('the time that a body takes to arrive does not count towards the time limit for the response', async (t) => {
  const time = skippableTime(t)
  const { exchanges, sent, open } = makeExchanges()
  const slow = open()
  await turn()
  time.pass(1000)
  const quick = open()
  exchanges.finishWhenKnown(quick, new Promise(() => {}))
  await turn()
  time.pass(1000)
  const beforeMs = performance.now()
  time.pass(1000)
  exchanges.finishWhenKnown(slow, new Promise(() => {}))
  exchanges.expire(beforeMs)
  await until('a response is sent', async () => sent.length > 0 || undefined)
  t.equal(quick.aborted, true, 'the request that started to wait before that time is cancelled')
  t.equal(slow.aborted, false, 'the request whose body arrived later is not')
  t.strictSame(sent, [refusal])
})

t.test('a stream is notified if its client disconnects before the response starts', async (t) => {
  const { exchanges, sent, open } = makeExchanges()
  const gone: string[] = []
  const answerOf = (name: string): Answer => {
    const stream = { filler: Buffer.alloc(0), begin() {}, onWritable() {}, onGone: () => void gone.push(name) }
    return { status: 200, body: '', stream }
  }
  let resolve: (answer: Answer) => void = () => {}
  const early = open()
  exchanges.finishWhenKnown(early, new Promise((settle) => (resolve = settle)))
  exchanges.abort(early)
  resolve(answerOf('while its response was built'))
  const late = open()
  exchanges.finishLater(late, answerOf('while its response was queued'))
  exchanges.abort(late)
  exchanges.finishLater(open(), answerOf('never'))
  await until('both streams are notified', async () => (gone.length === 2 && sent.length > 0) || undefined)
  t.strictSame(gone.sort(), ['while its response was built', 'while its response was queued'])
  t.equal(sent.length, 1)
})

t.test('a request whose response takes more than 120 s is cancelled and gets 503', async (t) => {
  const time = skippableTime(t)
  const cancelled: boolean[] = []
  let ongoing: Ongoing | undefined
  const handle = (_body: Buffer, _caller: object, request: Ongoing): Promise<Answer> => {
    ongoing = request
    request.onAborted = () => void cancelled.push(request.aborted)
    return new Promise(() => {})
  }
  const { connect } = await serveRoutes(t, [{ path: '/endless', isRead: true, handle }])
  const client = await connect()
  await client.write(requestText('/endless', 'any', '{}'))
  await until('the request is handled', async () => ongoing)
  time.pass(60_000)
  t.strictSame(cancelled, [], 'the request is not cancelled earlier')
  time.pass(61_000)
  if (!t.strictSame(cancelled, [true], 'the handler is notified')) return
  await until('the response arrives', async () => client.received.includes('}') || undefined)
  t.match(client.received, /^HTTP\/1\.1 503 .*"timed_out"/s, 'the client gets an error')
})

t.test('a body counts as in progress until its handler finishes, even if its client has disconnected', async (t) => {
  const { exchanges, open } = makeExchanges()
  let resolve: (answer: Answer) => void = () => {}
  const left = open(1000)
  exchanges.finishWhenKnown(left, new Promise((settle) => (resolve = settle)))
  exchanges.finishWhenKnown(open(10), new Promise(() => {}))
  exchanges.abort(left)
  t.equal(exchanges.unanswered, 1)
  t.strictSame([exchanges.working, exchanges.workingBytes], [2, 1010], 'both handlers are working')
  resolve(refusal)
  await until('the handler has finished', async () => exchanges.working === 1 || undefined)
  t.equal(exchanges.workingBytes, 10)
})

t.test('an intended wait does not count towards the measured duration of a request', async (t) => {
  const { exchanges, measuredMs, open } = makeExchanges()
  exchanges.finishWhenKnown(open(), Promise.resolve({ status: 200, body: '', waitedMs: 1_000_000 }))
  exchanges.finishWhenKnown(open(), Promise.resolve({ status: 200, body: '' }))
  await until('both responses are sent', async () => measuredMs.length === 2 || undefined)
  const [waited = 0, plain = 0] = measuredMs
  t.ok(waited < -900_000 && plain >= 0, `the wait counts as ${waited} ms, another request as ${plain} ms`)
})
