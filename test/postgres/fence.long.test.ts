/**
 * Fenced reads on a simulated engine: a proof counts only for the primary that served the read, and one proof serves all reads that wait
 * when it starts.
 */
import t from 'tap'
import { StoreError } from '../../dist/store/errors.js'
import { createFence } from '../../dist/store/postgres/connection/fence.js'

/** A simulated engine. `onProof` returns the rows of each proof and may change the primary. A read returns its primary's timeline. */
function simulate(onProof: (engine: { timeline: number; proofs: number }) => readonly unknown[]) {
  const engine = { timeline: 1, proofs: 0, reads: 0 }
  const fence = createFence({
    timeline: () => engine.timeline,
    async write<Row>() {
      await new Promise((resolve) => setTimeout(resolve, 5))
      engine.proofs++
      return onProof(engine) as Row[]
    },
  })
  const fenced = (): Promise<number> =>
    fence(async () => {
      engine.reads++
      return engine.timeline
    })
  return { engine, fenced }
}

const proof = [{ lsn: '0/0' }]

t.test('a read is returned once the same server has proved that it is the primary', async (t) => {
  const { engine, fenced } = simulate(() => proof)
  t.equal(await fenced(), 1)
  t.strictSame(engine, { timeline: 1, proofs: 1, reads: 1 })
})

t.test('a read is repeated on the successor if it is the successor that gives the proof', async (t) => {
  const { engine, fenced } = simulate((engine) => {
    engine.timeline = 2
    return proof
  })
  t.equal(await fenced(), 2, 'the rows are those of the successor')
  t.equal(engine.reads, 2)
})

t.test('a read is rejected if the primary changes at each attempt', async (t) => {
  const { fenced } = simulate((engine) => {
    engine.timeline++
    return proof
  })
  await t.rejects(fenced(), {
    kind: 'unavailable',
    message: 'the primary changed during the read',
  })
})

t.test('an engine without a synchronous standby cannot prove that it is the primary', async (t) => {
  const { fenced } = simulate(() => [])
  const message = 'the PostgreSQL server did not prove that it is the primary: it no longer has a synchronous standby'
  await t.rejects(fenced(), { kind: 'unavailable', message })
})

t.test('an engine that does not answer cannot prove that it is the primary', async (t) => {
  const { fenced } = simulate(() => {
    throw new StoreError('unknown_outcome', 'the PostgreSQL server was lost')
  })
  await t.rejects(fenced(), {
    kind: 'unavailable',
    message: /did not prove that it is the primary: the PostgreSQL server was lost/,
  })
})

t.test('one proof serves all reads that wait for it, but no later reads', async (t) => {
  const { engine, fenced } = simulate(() => proof)
  await Promise.all(Array.from({ length: 100 }, () => fenced()))
  t.equal(engine.proofs, 1)
  await Promise.all([fenced(), new Promise((resolve) => setTimeout(resolve, 2)).then(() => fenced())])
  t.equal(engine.proofs, 3, 'a later read needs its own proof')
})
