/** What becomes of the requests of one client while writers come and go: without sockets, with times that the test gives. */
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

/** A writer greets that has taken so many requests. */
function greeted(session: Session<string>, lastTaken: number, nowMs = 0): string[] {
  const { again, givenUp } = session.greeted(lastTaken, nowMs)
  return [callers(again), ...ends(givenUp)]
}

t.test('requests are sent once a writer has greeted, and again to the next', async (t) => {
  const session = sessionWith('a', 'b')
  t.strictSame(greeted(session, 0), ['ab'], 'the first writer')
  t.equal(frame(session, 0, 'c'), true, 'later ones at once')
  session.disconnected()
  t.equal(frame(session, 0, 'd'), false, 'not while there is no connection')
  t.equal(session.answered(1, 0)?.caller, 'a', 'an outcome that a writer has kept')
  t.equal(session.answered(1, 0), undefined, 'it comes a second time')
  t.equal(session.answeredBelow(5), 1)
  t.strictSame(greeted(session, 2), ['cd'], 'the next writer has taken b, whose outcome it will send')
  t.equal(session.answered(2, 0)?.caller, 'b')
  t.equal(session.answeredBelow(5), 2)
})

t.test('a request that several writers die of has an unknown outcome', async (t) => {
  const session = sessionWith('a')
  for (let writer = 0; writer < writerSendsMax; writer++) {
    t.strictSame(greeted(session, 0), ['a'])
    session.disconnected()
  }
  t.strictSame(greeted(session, 0), ['', 'a unknown_outcome'])
  t.ok(session.isIdle)
})

t.test('no request is suspect when this end has ended the connection', async (t) => {
  const session = sessionWith('a')
  for (let writer = 0; writer < 3 * writerSendsMax; writer++) {
    t.strictSame(greeted(session, 0), ['a'])
    session.endsConnection()
    session.disconnected()
  }
})

t.test('a request that no writer answers in time is given up', async (t) => {
  /** Checks as often as a link does. */
  const lastOf = (session: Session<string>, fromMs: number, untilMs: number): string[] => {
    const all: string[] = []
    for (let nowMs = fromMs; nowMs <= untilMs; nowMs += lateCheckMs) all.push(...ends(session.giveUpLate(nowMs)))
    return all
  }
  const unsent = sessionWith('a')
  t.strictSame(lastOf(unsent, 0, answerMsMax - lateCheckMs), [])
  t.strictSame(lastOf(unsent, answerMsMax, answerMsMax), ['a unavailable'], 'no writer had it')

  const sent = sessionWith('a', 'b')
  greeted(sent, 0)
  lastOf(sent, 0, answerMsMax - lateCheckMs)
  t.equal(sent.answered(1, answerMsMax - 1)?.caller, 'a')
  t.strictSame(lastOf(sent, answerMsMax, 2 * answerMsMax - lateCheckMs), [], 'an answer renews the wait')
  t.strictSame(lastOf(sent, 2 * answerMsMax, 2 * answerMsMax), ['b unknown_outcome'])

  const suspended = sessionWith('a')
  t.strictSame(ends(suspended.giveUpLate(2 * answerMsMax)), [], 'not after a suspension, before answers were read')

  const growing = new Session<string>(0)
  growing.add('a', 0, 1, 0)
  t.strictSame(lastOf(growing, 0, 2 * answerMsMax), [], 'not while its frame is not sent')
})

t.test('a request is not sent to a writer that may have forgotten its client', async (t) => {
  const session = sessionWith('a')
  greeted(session, 0)
  session.disconnected()
  t.strictSame(greeted(session, 0, writerClientGoneMs + 1), ['', 'a unknown_outcome'])
})

t.test('all requests end when no writer can ever answer', async (t) => {
  const session = sessionWith('a')
  greeted(session, 0)
  session.disconnected()
  frame(session, 0, 'b')
  t.strictSame(ends(session.giveUpAll('a wrong build')), ['a unknown_outcome', 'b unavailable'])
  t.ok(session.isIdle)
})
