/**
 * The pool of one process's sessions, on a simulated engine: its size, the order in which requests get sessions, and the rejection of
 * requests.
 */

import t from 'tap'
import { StoreError } from '../../dist/store/errors.js'
import { Connections } from '../../dist/store/postgres/connection/connections.js'
import { Engine, NoSlot } from '../../dist/store/postgres/connection/engine.js'
import { Pool } from '../../dist/store/postgres/connection/pool.js'
import type { Session } from '../../dist/store/postgres/connection/session.js'
import { at } from '../support/elements.js'
import { skippableTime } from '../support/skipped-time.js'
import { eventually, turn } from '../support/turns.js'

class SimulatedSession {
  destroyed = false
  onAnswer = (): void => {}
  #onEnd = (): void => {}
  readonly #answered = new Promise<void>((resolve) => (this.onAnswer = resolve))

  onEnd(listener: () => void): void {
    this.#onEnd = listener
  }

  answered(): Promise<void> {
    return this.#answered
  }

  destroy(): void {
    this.destroyed = true
    this.#onEnd()
  }
}

/** An engine that opens sessions, or fails with `failure`. */
class SimulatedEngine {
  failure: StoreError | undefined
  readonly sessions: SimulatedSession[] = []
  deposed = false
  /** Attempts to open a session. */
  attempts = 0
  onSuccessor(): void {}
  onReached(): void {}

  isCurrent(): boolean {
    return !this.deposed
  }

  async open(): Promise<Session> {
    this.attempts++
    if (this.failure !== undefined) throw this.failure
    const session = new SimulatedSession()
    this.sessions.push(session)
    return session as unknown as Session
  }
}

const limits = { statementMsMax: 1000, idleMsMax: 1000, unreadMsMax: 0 }

/** @param workingOf returns the given backends that still execute a statement; all by default */
function simulate(sizeMax: number, workingOf = async (all: readonly number[]): Promise<Set<number>> => new Set(all)) {
  const engine = new SimulatedEngine()
  const pool = new Pool(engine as unknown as Engine, () => sizeMax, limits, workingOf)
  t.teardown(() => pool.close())
  return { engine, pool }
}

const away = new StoreError('unavailable', 'the PostgreSQL server cannot be reached: it is down')
const full = new NoSlot('unavailable', 'the PostgreSQL server has no free connections')

t.test('the number of sessions is limited, and waiting requests get a session in order', async (t) => {
  const { engine, pool } = simulate(2)
  const [first, second] = await Promise.all([pool.acquire(), pool.acquire()])
  const order: string[] = []
  const acquire = async (name: string): Promise<Session> => {
    const session = await pool.acquire()
    order.push(name)
    return session
  }
  const third = acquire('third')
  const fourth = acquire('fourth')
  pool.release(first)
  t.equal(await third, first)
  pool.release(second)
  t.equal(await fourth, second)
  t.strictSame(order, ['third', 'fourth'])
  t.equal(engine.sessions.length, 2)
})

t.test('an abandoned session counts towards the limit until its response arrives', async (t) => {
  const { engine, pool } = simulate(1)
  const session = await pool.acquire()
  pool.giveUp(session)
  const next = pool.acquire()
  t.equal(engine.sessions.length, 1, 'no session is opened in its place')
  at(engine.sessions, 0).onAnswer()
  t.equal(await next, session, 'the session is used again')
})

t.test('an abandoned session whose response was lost is closed once its backend is idle', async (t) => {
  const working = new Set([undefined])
  const { engine, pool } = simulate(1, async () => working as unknown as Set<number>)
  pool.giveUp(await pool.acquire())
  const next = pool.acquire()
  const lost = at(engine.sessions, 0)
  t.notOk(lost.destroyed)
  working.clear()
  t.not(await next, lost, 'another session is opened in its place')
  t.ok(lost.destroyed)
})

t.test('requests are rejected immediately while no session can be opened', async (t) => {
  const { engine, pool } = simulate(2)
  engine.failure = away
  await t.rejects(pool.acquire(), away)
  t.equal(pool.failure, away)
  const { attempts } = engine
  await t.rejects(pool.acquire(), away)
  t.equal(engine.attempts, attempts, 'without another attempt')
  engine.failure = undefined
  await eventually(() => pool.failure === undefined)
  t.equal(engine.sessions.length, 1, 'a session was opened in the background')
  await pool.acquire()
})

t.test('a pool with open sessions survives a failure to open another session', async (t) => {
  const { engine, pool } = simulate(2)
  const session = await pool.acquire()
  engine.failure = away
  const next = pool.acquire()
  await eventually(() => engine.attempts > 1)
  t.equal(pool.failure, undefined)
  engine.failure = full
  const { attempts } = engine
  await eventually(() => engine.attempts > attempts)
  t.equal(pool.failure, undefined, 'an engine without a free slot is no failure either')
  pool.release(session)
  t.equal(await next, session)
})

t.test('a session on a deposed primary is not used again', async (t) => {
  const { engine, pool } = simulate(1)
  const session = await pool.acquire()
  engine.deposed = true
  pool.release(session)
  t.ok(at(engine.sessions, 0).destroyed)
})

t.test('only sessions unused for a minute are closed', async (t) => {
  const time = skippableTime(t)
  const { engine, pool } = simulate(3)
  const [idle, used, late] = await Promise.all([pool.acquire(), pool.acquire(), pool.acquire()])
  const ended = (): readonly boolean[] => engine.sessions.map(({ destroyed }) => destroyed)
  pool.release(idle)
  time.pass(40_000)
  pool.release(late)
  t.strictSame(ended(), [false, false, false])
  time.pass(30_000)
  t.strictSame(ended(), [true, false, false], 'a recently used session and one in use stay open')
  pool.release(used)
  t.equal(await pool.acquire(), used)
})

t.test("a process has at most 8 sessions for reads, or its share of the server's connections if smaller", async (t) => {
  const { open } = Engine.prototype
  t.teardown(() => Object.assign(Engine.prototype, { open }))
  for (const [slots, sharers, expected] of [
    [1000, 1, 8],
    [100, 4, 5],
    [10, 4, 1],
  ] as const) {
    let opened = 0
    let answer = (): void => {}
    const answered = new Promise<readonly unknown[]>((resolve) => (answer = () => resolve([])))
    Engine.prototype.open = async () => {
      opened++
      const session = { slots, timeline: 0, execute: () => answered }
      return Object.assign(new SimulatedSession(), session) as unknown as Session
    }
    const connections = new Connections('postgres://127.0.0.1/test', sharers)
    const read = (): Promise<unknown> => connections.read({ name: 'any', text: '' }, [])
    const reads = [read()]
    await turn()
    for (let i = 0; i < 30; i++) reads.push(read())
    await turn()
    t.equal(opened, expected, `${slots} for ${sharers} processes`)
    answer()
    await Promise.all(reads)
    await connections.close()
  }
})

t.test('closing the pool ends abandoned sessions immediately and other sessions after a moment', async (t) => {
  const { engine, pool } = simulate(3)
  const [first, second, third] = await Promise.all([pool.acquire(), pool.acquire(), pool.acquire()])
  pool.giveUp(first)
  const closed = pool.close()
  t.ok(at(engine.sessions, 0).destroyed, 'the abandoned session is ended')
  pool.giveUp(second)
  t.ok(at(engine.sessions, 1).destroyed, 'a session abandoned during the close is ended')
  t.notOk(at(engine.sessions, 2).destroyed, 'the session in use is not ended yet')
  await closed
  t.ok(at(engine.sessions, 2).destroyed)
  pool.release(third)
  await t.rejects(pool.acquire(), { kind: 'unavailable', message: 'the store is closed' })
})
