/**
 * The proof that a fenced read waits for, over an engine that is only played: it counts for the primary that was read from and for no
 * other, and one proof serves all that wait when it begins.
 */
import t from 'tap'
import { createFencedRead } from '../../dist/store/postgres/fence.js'
import type { Statement } from '../../dist/store/postgres/statement.js'
import { StoreError } from '../../dist/store/store.js'

const statement: Statement<{ value: string }> = { name: 'any', text: '' }

/** An engine whose primaries follow one another as `onProof` says; each read tells from which one it came. */
function play(onProof: (engine: { timeline: number; proofs: number }) => readonly unknown[]) {
  const engine = { timeline: 1, proofs: 0, reads: 0 }
  const fenced = createFencedRead({
    timeline: () => engine.timeline,
    async read<Row>() {
      engine.reads++
      return [{ value: String(engine.timeline) }] as Row[]
    },
    async write<Row>() {
      await new Promise((resolve) => setTimeout(resolve, 5))
      engine.proofs++
      return onProof(engine) as Row[]
    },
  })
  return { engine, fenced }
}

const proof = [{ lsn: '0/0' }]

t.test('a read from the primary that proves itself counts', async (t) => {
  const { engine, fenced } = play(() => proof)
  t.strictSame(await fenced(statement, []), [{ value: '1' }])
  t.strictSame(engine, { timeline: 1, proofs: 1, reads: 1 })
})

t.test('a proof by a successor is none for what was read from its predecessor', async (t) => {
  const { engine, fenced } = play((engine) => {
    engine.timeline = 2
    return proof
  })
  t.strictSame(await fenced(statement, []), [{ value: '2' }], 'it is read again, from the successor')
  t.equal(engine.reads, 2)
})

t.test('while one primary follows another nothing counts', async (t) => {
  const { fenced } = play((engine) => {
    engine.timeline++
    return proof
  })
  await t.rejects(fenced(statement, []), {
    kind: 'unavailable',
    message: 'the primary changed during the read',
  })
})

t.test('an engine without a synchronous standby proves nothing', async (t) => {
  const { fenced } = play(() => [])
  const message = 'the engine did not prove that it is the primary: it has no synchronous standby any more'
  await t.rejects(fenced(statement, []), { kind: 'unavailable', message })
})

t.test('an engine that does not answer proves nothing', async (t) => {
  const { fenced } = play(() => {
    throw new StoreError('unknown_outcome', 'the engine was lost')
  })
  await t.rejects(fenced(statement, []), {
    kind: 'unavailable',
    message: /did not prove that it is the primary: the engine was lost/,
  })
})

t.test('a proof serves all that wait when it begins', async (t) => {
  const { engine, fenced } = play(() => proof)
  await Promise.all(Array.from({ length: 100 }, () => fenced(statement, [])))
  t.equal(engine.proofs, 1)
  await Promise.all([
    fenced(statement, []),
    new Promise((resolve) => setTimeout(resolve, 2)).then(() => fenced(statement, [])),
  ])
  t.equal(engine.proofs, 3, 'and not one that comes later')
})
