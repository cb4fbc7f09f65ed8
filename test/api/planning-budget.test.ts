/**
 * The REMOVAL clauses of one request share a planning budget: a request that exceeds it is rejected with the reason and
 * changes nothing.
 */
import t from 'tap'
import { parseImportLine } from '../../dist/tools/import-line.js'
import { refuses, refusesOperation } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

/** A selector that takes half of the budget. */
const half = (name: number): string => `*u${name}[${'\\\\pL\\\\PN'.repeat(18)}]x`

const removal = (selector: string) => ({ REMOVAL: `when no updates for 1d remove '${selector}'` })

await overStores(t, async (t, { post }) => {
  await t.test('each route rejects a remove clause that exceeds the planning budget on its own', async (t) => {
    const properties = removal(half(0).replace(']x', `${'\\\\pL\\\\PN'.repeat(30)}]x`))
    for (const [route, more] of [
      ['add', {}],
      ['addAndSet', { value: 1 }],
    ] as const) {
      const answer = await post(route, { path: 'p', properties, ...more })
      refuses(t, answer, 400, 'invalid_property', route)
      t.match(answer.text, /REMOVAL.* has a remove clause whose selector exceeds the planning limit of 250000 units/)
    }
  })

  await t.test('the remove clauses of a batch share one planning budget', async (t) => {
    const operations = (count: number, selectorOf: (i: number) => string) =>
      Array.from({ length: count }, (_, i) => ({ op: 'add', path: `p/${i}`, properties: removal(selectorOf(i)) }))
    refusesOperation(t, await post('batch', { operations: operations(3, half) }), 400, 'invalid_property', 2, 'three')
    t.equal((await post('fetch', { path: 'p/0' })).status, 400, 'nothing was created')
    t.equal((await post('batch', { operations: operations(1000, () => half(1)) })).status, 200, '1000 equal clauses')
    t.equal((await post('batch', { operations: operations(1, half) })).status, 200, 'one')
    const plain = operations(1000, (i) => `*plant/line-${i}//`)
    t.equal((await post('batch', { operations: plain })).status, 200, '1000 subtrees')
  })
})

t.test('a line of an import is rejected if its remove clause exceeds the planning budget', async (t) => {
  const line = (count: number): Buffer =>
    Buffer.from(
      JSON.stringify({ path: 'p', type: 'json', properties: removal(`*u[${'\\\\pL\\\\PN'.repeat(count)}]x`) }),
    )
  t.match(parseImportLine(line(30)), { kind: 'topic' })
  t.throws(() => parseImportLine(line(60)), /exceeds the planning limit/)
})
