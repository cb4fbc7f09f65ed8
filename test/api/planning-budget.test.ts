/**
 * The REMOVAL clauses of one request have one budget for their planning: a request beyond it is refused with the reason,
 * changes nothing, and costs no more than a plain one of its size.
 */
import t from 'tap'
import { parseImportLine } from '../../dist/tools/import-line.js'
import { refuses, refusesOperation } from '../support/expected-answers.js'
import { childrenOf, processorMs } from '../support/machines/processes.js'
import { overStores } from '../support/service/over-stores.js'

/** Takes half of the budget. */
const half = (name: number): string => `*u${name}[${'\\\\pL\\\\PN'.repeat(18)}]x`

const removal = (selector: string) => ({ REMOVAL: `when no updates for 1d remove '${selector}'` })

await overStores(t, async (t, { post, pid }) => {
  await t.test('a clause that costs too much alone is refused, by each route', async (t) => {
    const properties = removal(half(0).replace(']x', `${'\\\\pL\\\\PN'.repeat(30)}]x`))
    for (const [route, more] of [
      ['add', {}],
      ['addAndSet', { value: 1 }],
    ] as const) {
      const answer = await post(route, { path: 'p', properties, ...more })
      refuses(t, answer, 400, 'invalid_property', route)
      t.match(answer.text, /REMOVAL.* removes by a selector that takes more work to plan than the 250000 units allowed/)
    }
  })

  await t.test('the clauses of a batch share one budget', async (t) => {
    const operations = (count: number, selectorOf: (i: number) => string) =>
      Array.from({ length: count }, (_, i) => ({ op: 'add', path: `p/${i}`, properties: removal(selectorOf(i)) }))
    refusesOperation(t, await post('batch', { operations: operations(3, half) }), 400, 'invalid_property', 2, 'three')
    t.equal((await post('fetch', { path: 'p/0' })).status, 400, 'nothing was created')
    t.equal((await post('batch', { operations: operations(1000, () => half(1)) })).status, 200, '1000 times the same')
    t.equal((await post('batch', { operations: operations(1, half) })).status, 200, 'one')
    const plain = operations(1000, (i) => `*plant/line-${i}//`)
    t.equal((await post('batch', { operations: plain })).status, 200, '1000 subtrees')
  })

  await t.test('a megabyte of expensive clauses costs no more than a plain one', async (t) => {
    const cpu = (): number => childrenOf(pid).reduce((sum, worker) => sum + processorMs(worker), 0)
    const costMs = async (selectorOf: (round: number, i: number) => string): Promise<number> => {
      const startMs = cpu()
      for (let round = 0; round < 5; round++) {
        const operations = Array.from({ length: 100 }, (_, i) => ({
          op: 'add',
          path: `r/${round}/${i}`,
          properties: removal(selectorOf(round, i)),
        }))
        await post('batch', { operations })
      }
      return cpu() - startMs
    }
    const plainMs = await costMs(
      (round, i) => `#${[1, 2, 3, 4].map((n) => `${n}-${round}-${i}-${'x'.repeat(1900)}`).join('////')}`,
    )
    const hostileMs = await costMs((round, i) => `*u${round}/${i}[${'\\\\pL\\\\PN'.repeat(600)}]`)
    // Without a budget it was 200 times. What a budget allows for is 25 ms each time, or a multiple while cold.
    t.ok(hostileMs < 2 * plainMs + 1500, `${hostileMs} ms of CPU, a plain one ${plainMs} ms`)
  })
})

t.test('a line of an import has such a budget, too', async (t) => {
  const line = (count: number): Buffer =>
    Buffer.from(
      JSON.stringify({ path: 'p', type: 'json', properties: removal(`*u[${'\\\\pL\\\\PN'.repeat(count)}]x`) }),
    )
  t.match(parseImportLine(line(30)), { kind: 'topic' })
  t.throws(() => parseImportLine(line(60)), /takes more work to plan/)
})
