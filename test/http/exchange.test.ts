/**
 * Exchanges that wait for a promise expire by how long they have waited, however long their bodies took to arrive.
 */

import type { HttpResponse } from 'uWebSockets.js'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Answer, Service } from '../../dist/http/answer.js'
import { Exchanges } from '../../dist/http/exchange.js'
import type { Responses } from '../../dist/http/response.js'
import { until } from '../support/service/server.js'

const refusal: Answer = { status: 503, body: '', cause: 'timed_out' }

/** Exchanges, and the answers that they have sent. */
function makeExchanges() {
  const sent: Answer[] = []
  const service = { refusal: () => refusal, answered() {}, answerForError: () => undefined }
  const responses = { hasRoom: () => true, send: (_: unknown, answer: Answer) => void sent.push(answer) }
  const exchanges = new Exchanges(service as unknown as Service<object>, responses as unknown as Responses)
  const res = { cork: (send: () => void) => send() } as unknown as HttpResponse
  return { exchanges, sent, open: () => exchanges.open(res, undefined, 0) }
}

t.test('the time that a body takes to arrive does not count as waiting', async (t) => {
  const { exchanges, sent, open } = makeExchanges()
  const slow = open()
  await sleep(20)
  const quick = open()
  exchanges.finishWhenKnown(quick, new Promise(() => {}))
  await sleep(20)
  const beforeMs = performance.now()
  await sleep(20)
  exchanges.finishWhenKnown(slow, new Promise(() => {}))
  exchanges.expire(beforeMs)
  await until('an answer', async () => sent.length > 0 || undefined)
  t.equal(quick.aborted, true, 'the one that has waited since before that time is cancelled')
  t.equal(slow.aborted, false, 'the one whose body arrived later is not')
  t.strictSame(sent, [refusal])
})

t.test('a stream whose client goes before its answer is sent learns of it', async (t) => {
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
  resolve(answerOf('while it was made'))
  const late = open()
  exchanges.finishLater(late, answerOf('while it was queued'))
  exchanges.abort(late)
  exchanges.finishLater(open(), answerOf('never'))
  await until('all are told', async () => (gone.length === 2 && sent.length > 0) || undefined)
  t.strictSame(gone.sort(), ['while it was made', 'while it was queued'])
  t.equal(sent.length, 1)
})
