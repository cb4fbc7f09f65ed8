/** The batcher: which requests share a statement, the order of statements, and which requests are rejected. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { Batcher, type PutBack, type Request } from '../../dist/store/postgres/connection/batcher.js'
import { at, only } from '../support/elements.js'

interface NamedRequest extends Request {
  readonly name: string
  /** The error with which the batcher rejected it. */
  reason?: unknown
}

/** @param name the first letter is the key */
function request(name: string, bytes = 1): NamedRequest {
  const made: NamedRequest = {
    name,
    id: name.charAt(0),
    bytes,
    reject: (reason) => (made.reason = reason),
  }
  return made
}

interface Statement {
  /** The groups, each as the names of its requests: `a1+a2 b1`. */
  readonly text: string
  end(): void
  fail(reason: Error): void
  readonly putBack: PutBack<NamedRequest>
}

interface Simulation {
  readonly batcher: Batcher<NamedRequest>
  /** The statements that were sent, in order. */
  readonly statements: Statement[]
}

function simulate({ inFlightMax = 1, groupsMax = 10 } = {}): Simulation {
  const statements: Statement[] = []
  const batcher = new Batcher<NamedRequest>(
    (groups, putBack) =>
      new Promise((end, fail) => {
        const text = groups.map((group) => group.map(({ name }) => name).join('+')).join(' ')
        statements.push({ text, end, fail, putBack })
      }),
    inFlightMax,
    groupsMax,
  )
  return { batcher, statements }
}

/** Ends every statement until no more are sent; returns the texts of all statements. */
async function endAll({ statements }: Simulation): Promise<string[]> {
  for (let ended = 0; ended < statements.length; ended++) {
    at(statements, ended).end()
    await nextTurn()
    await nextTurn()
  }
  return statements.map(({ text }) => text)
}

t.test('requests of one turn of the event loop share a statement', async (t) => {
  const simulation = simulate()
  for (const name of ['a1', 'b1', 'a2', 'c1']) simulation.batcher.add(request(name))
  t.equal(simulation.statements.length, 0, 'nothing is sent before the end of the turn')
  await nextTurn()
  t.strictSame(await endAll(simulation), ['a1+a2 b1 c1'])
})

t.test('a statement has a limited number of groups of requests, and no more once it exceeds 4 MiB', async (t) => {
  const many = simulate({ groupsMax: 2 })
  for (const name of ['a1', 'b1', 'c1', 'a2']) many.batcher.add(request(name))
  await nextTurn()
  t.strictSame(await endAll(many), ['a1+a2 b1', 'c1'])
  const large = simulate()
  large.batcher.add(request('a1', 4 * 1024 * 1024))
  for (const name of ['b1', 'c1']) large.batcher.add(request(name))
  await nextTurn()
  t.strictSame(await endAll(large), ['a1 b1', 'c1'], 'one more group is taken at the limit, and none beyond it')
})

t.test('requests that are put back into the queue are sent before newer ones', async (t) => {
  const simulation = simulate()
  const [changed, same] = [request('a1'), request('b0')]
  for (const one of [changed, same]) simulation.batcher.add(one)
  await nextTurn()
  simulation.batcher.add(request('b1'))
  const { putBack } = only(simulation.statements)
  putBack(changed, request('a2'))
  putBack(same)
  t.strictSame(await endAll(simulation), ['a1 b0', 'a2 b0+b1'])
})

t.test('a request that is put back into the queue is not rejected if its statement fails', async (t) => {
  const simulation = simulate()
  const requests = ['a1', 'b1', 'c1'].map((name) => request(name))
  for (const one of requests) simulation.batcher.add(one)
  await nextTurn()
  const [first, second, third] = requests as [NamedRequest, NamedRequest, NamedRequest]
  const { putBack, fail } = only(simulation.statements)
  putBack(first)
  putBack(second, request('b2'))
  const reason = new Error('the engine is down')
  fail(reason)
  await nextTurn()
  t.strictSame([first.reason, second.reason, third.reason], [undefined, undefined, reason])
  t.strictSame(await endAll(simulation), ['a1 b1 c1', 'a1 b2'])
})

t.test('a failed statement rejects its own requests but not later requests', async (t) => {
  const simulation = simulate()
  const failing = ['a1', 'a2', 'b1'].map((name) => request(name))
  for (const one of failing) simulation.batcher.add(one)
  await nextTurn()
  const next = request('c1')
  simulation.batcher.add(next)
  const reason = new Error('the connection is lost')
  only(simulation.statements).fail(reason)
  await nextTurn()
  await nextTurn()
  t.ok(failing.every((one) => one.reason === reason))
  at(simulation.statements, 1).end()
  t.equal(next.reason, undefined)
})
