/** What is gathered into one statement, in which order it goes out, and what happens to it when it cannot. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { Batcher, type Request } from '../../dist/store/postgres/batcher.js'
import { StoreError } from '../../dist/store/store.js'
import { at, only } from '../support/only.js'

interface Played extends Request {
  readonly name: string
  /** Why it was refused. */
  reason?: unknown
}

/** @param name its first letter is its key; a capital one can share no change with another */
function request(name: string, { bytes = 1, sinceMs = performance.now() } = {}): Played {
  const made: Played = {
    name,
    id: name.charAt(0).toLowerCase(),
    bytes,
    sinceMs,
    reject: (reason) => (made.reason = reason),
  }
  return made
}

interface Statement {
  /** Its groups, each as its requests' names: `a1+a2 b1`. */
  readonly text: string
  end(): void
  fail(reason: Error): void
}

interface Play {
  readonly batcher: Batcher<Played>
  /** Those that were sent, in order. */
  readonly statements: Statement[]
}

function play({ inFlightMax = 1, groupsMax = 10, waitMsMax = 60_000 } = {}): Play {
  const statements: Statement[] = []
  const batcher = new Batcher<Played>({
    canShare: (_, { name }) => name === name.toLowerCase(),
    execute: (groups) =>
      new Promise((end, fail) => {
        const text = groups.map((group) => group.map(({ name }) => name).join('+')).join(' ')
        statements.push({ text, end, fail })
      }),
    inFlightMax,
    groupsMax,
    waitMsMax,
  })
  return { batcher, statements }
}

/** Ends every statement until no more come; gives the texts of all. */
async function endAll({ statements }: Play): Promise<string[]> {
  for (let ended = 0; ended < statements.length; ended++) {
    at(statements, ended).end()
    await nextTurn()
    await nextTurn()
  }
  return statements.map(({ text }) => text)
}

t.test('requests of one turn go out together, those for one key in one group', async (t) => {
  const played = play()
  for (const name of ['a1', 'b1', 'a2', 'c1', 'b2']) played.batcher.add(request(name))
  t.equal(played.statements.length, 0, 'at the end of the turn')
  await nextTurn()
  t.strictSame(await endAll(played), ['a1+a2 b1+b2 c1'])
})

t.test('a request that cannot share the change waits for a later statement, and so does what follows it', async (t) => {
  const played = play({ inFlightMax: 1 })
  for (const name of ['a1', 'A2', 'b1', 'A3']) played.batcher.add(request(name))
  await nextTurn()
  t.strictSame(await endAll(played), ['a1 b1', 'A2', 'A3'])
})

t.test('while as many statements as are allowed are in flight, requests are gathered', async (t) => {
  const played = play({ inFlightMax: 2 })
  for (const name of ['a1', 'b1', 'c1', 'd1']) {
    played.batcher.add(request(name))
    await nextTurn()
  }
  t.strictSame(
    played.statements.map(({ text }) => text),
    ['a1', 'b1'],
  )
  t.strictSame(await endAll(played), ['a1', 'b1', 'c1 d1'])
})

t.test('a statement has so many groups, and a new one begins beyond 4 MiB', async (t) => {
  const many = play({ groupsMax: 2 })
  for (const name of ['a1', 'b1', 'c1', 'a2']) many.batcher.add(request(name))
  await nextTurn()
  t.strictSame(await endAll(many), ['a1+a2 b1', 'c1'])
  const large = play()
  large.batcher.add(request('a1', { bytes: 4 * 1024 * 1024 }))
  for (const name of ['b1', 'c1']) large.batcher.add(request(name))
  await nextTurn()
  t.strictSame(await endAll(large), ['a1 b1', 'c1'], 'the limit has room for one more, and no more')
})

t.test('what a statement left over goes ahead of what came meanwhile', async (t) => {
  const played = play()
  played.batcher.add(request('a1'))
  await nextTurn()
  played.batcher.add(request('b1'))
  played.batcher.addAhead([request('a2'), request('b0')])
  t.strictSame(await endAll(played), ['a1', 'a2 b0+b1'])
})

t.test('what has waited for too long is refused when its statement would go out', async (t) => {
  const played = play({ waitMsMax: 1000 })
  const late = request('a1', { sinceMs: performance.now() - 1001 })
  played.batcher.add(late)
  played.batcher.add(request('a2'))
  await nextTurn()
  t.strictSame(await endAll(played), ['a2'])
  t.ok(late.reason instanceof StoreError)
  t.match(late.reason, { kind: 'unavailable' })
})

t.test('a statement that fails refuses all its requests, and the next one goes out', async (t) => {
  const played = play()
  const failing = ['a1', 'a2', 'b1'].map((name) => request(name))
  for (const one of failing) played.batcher.add(one)
  await nextTurn()
  const next = request('c1')
  played.batcher.add(next)
  const reason = new Error('the connection is lost')
  only(played.statements).fail(reason)
  await nextTurn()
  await nextTurn()
  t.ok(failing.every((one) => one.reason === reason))
  at(played.statements, 1).end()
  t.equal(next.reason, undefined)
})

t.test('it is drained once nothing is gathered or in flight', async (t) => {
  const played = play()
  await played.batcher.drained()
  for (const name of ['a1', 'A2']) played.batcher.add(request(name))
  let isDrained = false
  const drained = played.batcher.drained().then(() => (isDrained = true))
  await nextTurn()
  at(played.statements, 0).end()
  await nextTurn()
  t.notOk(isDrained, 'a request waits for the second statement')
  await nextTurn()
  at(played.statements, 1).end()
  await drained
})
