/** The handling of one client's requests while writers change, without sockets and with simulated times. */
import t from 'tap'
import { commitDeadlineMs, writerClientGoneMs } from '../../dist/settings/limits.js'
import { type GivenUp, lateCheckMs, type Pending, Session, writerSendsMax } from '../../dist/store/writer/session.js'

const answerMsMax = commitDeadlineMs + 2000

/** A session with one frame of these requests, each named by its caller. */
function sessionWith(...names: string[]): Session<string> {
  const session = new Session<string>(0)
  frame(session, 0, ...names)
  return session
}

/** Adds a frame of requests. @returns whether it is sent */
function frame(session: Session<string>, nowMs: number, ...names: string[]): boolean {
  const requests = names.map((name, i) => session.add(name, i, i + 1, nowMs))
  return session.endFrame(requests, Buffer.from(names.join('')))
}

const callers = (requests: readonly Pending<string>[]): string => requests.map(({ caller }) => caller).join('')
const ends = (givenUp: readonly GivenUp<string>[]): string[] =>
  givenUp.map(({ pending, reason }) => `${pending.caller} ${reason.kind}`)

/** Simulates the greeting of a writer that has taken requests up to `lastTaken`. */
function greeted(session: Session<string>, lastTaken: number, nowMs = 0): string[] {
  const { again, givenUp } = session.greeted(lastTaken, nowMs)
  return [callers(again), ...ends(givenUp)]
}

t.test('unanswered requests are sent to each new writer once it has sent its greeting', async (t) => {
  const session = sessionWith('a', 'b')
  t.strictSame(greeted(session, 0), ['ab'], 'the first writer')
  t.equal(frame(session, 0, 'c'), true, 'later requests are sent immediately')
  session.disconnected()
  t.equal(frame(session, 0, 'd'), false, 'nothing is sent without a connection')
  t.equal(session.answered(1, 0)?.caller, 'a', 'an outcome that a writer has kept')
  t.equal(session.answered(1, 0), undefined, 'the outcome arrives a second time')
  t.equal(session.answeredBelow(5), 1)
  t.strictSame(greeted(session, 2), ['cd'], 'the next writer has taken b and will send its outcome')
  t.equal(session.answered(2, 0)?.caller, 'b')
  t.equal(session.answeredBelow(5), 2)
})

t.test('a request has an unknown outcome if several writers die while it is in flight', async (t) => {
  const session = sessionWith('a')
  for (let writer = 0; writer < writerSendsMax; writer++) {
    t.strictSame(greeted(session, 0), ['a'])
    session.disconnected()
  }
  t.strictSame(greeted(session, 0), ['', 'a unknown_outcome'])
  t.ok(session.isIdle)
})

t.test('a request is not suspected of killing writers if the client itself closed the connections', async (t) => {
  const session = sessionWith('a')
  for (let writer = 0; writer < 3 * writerSendsMax; writer++) {
    t.strictSame(greeted(session, 0), ['a'])
    session.endsConnection()
    session.disconnected()
  }
})

t.test('a request fails if no writer responds to it in time', async (t) => {
  /** Checks as often as a link does. */
  const lastOf = (session: Session<string>, fromMs: number, untilMs: number): string[] => {
    const all: string[] = []
    for (let nowMs = fromMs; nowMs <= untilMs; nowMs += lateCheckMs) all.push(...ends(session.giveUpLate(nowMs)))
    return all
  }
  const unsent = sessionWith('a')
  t.strictSame(lastOf(unsent, 0, answerMsMax - lateCheckMs), [])
  t.strictSame(lastOf(unsent, answerMsMax, answerMsMax), ['a unavailable'], 'no writer received it')

  const sent = sessionWith('a', 'b')
  greeted(sent, 0)
  lastOf(sent, 0, answerMsMax - lateCheckMs)
  t.equal(sent.answered(1, answerMsMax - 1)?.caller, 'a')
  t.strictSame(lastOf(sent, answerMsMax, 2 * answerMsMax - lateCheckMs), [], 'a response restarts the wait')
  t.strictSame(lastOf(sent, 2 * answerMsMax, 2 * answerMsMax), ['b unknown_outcome'])

  const suspended = sessionWith('a')
  t.strictSame(ends(suspended.giveUpLate(2 * answerMsMax)), [], 'a suspension fails no request')

  const growing = new Session<string>(0)
  growing.add('a', 0, 1, 0)
  t.strictSame(lastOf(growing, 0, 2 * answerMsMax), [], 'nothing fails before its frame is sent')
})

t.test('a request is not sent to a writer that may have forgotten its client', async (t) => {
  const session = sessionWith('a')
  greeted(session, 0)
  session.disconnected()
  t.strictSame(greeted(session, 0, writerClientGoneMs + 1), ['', 'a unknown_outcome'])
})

t.test('all requests fail if no writer can ever answer', async (t) => {
  const session = sessionWith('a')
  greeted(session, 0)
  session.disconnected()
  frame(session, 0, 'b')
  t.strictSame(ends(session.giveUpAll('a wrong build')), ['a unknown_outcome', 'b unavailable'])
  t.ok(session.isIdle)
})
