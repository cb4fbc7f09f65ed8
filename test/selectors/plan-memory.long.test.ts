/**
 * Plans that are kept take no more memory than they are counted for, whatever else a worker does between them. A small
 * buffer is a part of one of Node.js's pools, and would keep all of it.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const plans = 2000

/** What a plan without a pattern counts for, besides its text. */
const planBytesMax = 2048

function usedBytes(): number {
  // The memory of buffers is freed beside the program; the second collection waits for that.
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function plan(selectorOf: (i: number) => string, from: number): void {
  for (let i = from; i < from + plans; i++) {
    const planned = planSelector(selectorOf(i))
    if ('problem' in planned) throw new Error(planned.problem)
    // Other buffers of the same pools, as requests make them.
    for (let others = 0; others < 8; others++) Buffer.from('x'.repeat(1000))
  }
}

function keepsLittle(t: Test, selectorOf: (i: number) => string): void {
  // What is compiled on the way is no plan.
  plan(selectorOf, 0)
  const before = usedBytes()
  plan(selectorOf, plans)
  const bytes = (usedBytes() - before) / plans
  t.ok(bytes < planBytesMax, `${selectorOf(0)}: ${Math.round(bytes)} bytes each`)
}

t.test('plans that are kept do not keep pools of buffers', async (t) => {
  keepsLittle(t, (i) => `plant/line-${i}/sensor`)
  keepsLittle(t, (i) => `*plant/line-${i}//`)
  keepsLittle(t, (i) => `?passing/${i}/`)
  keepsLittle(t, (i) => `#plant/${i}////?passing/${i}/`)
})
