/**
 * Cached plans take no more memory than they are counted for, even though a worker does other work between them. A small
 * buffer is part of one of Node.js's pools and would keep the whole pool.
 */
import t, { type Test } from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { parseRemoval } from '../../dist/topics/removal/parser.js'
import { collectGarbage } from '../support/garbage.js'

const plans = 2000

/** The counted size of a plan without a pattern, besides its text. */
const planBytesMax = 2048

function usedBytes(): number {
  // Buffers are freed outside the program; the second collection waits for that.
  collectGarbage()
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function plan(selectorOf: (i: number) => string, from: number): void {
  for (let i = from; i < from + plans; i++) {
    const planned = planSelector(selectorOf(i))
    if ('problem' in planned) throw new Error(planned.problem)
    // Other buffers from the same pools, like those of requests.
    for (let others = 0; others < 8; others++) Buffer.from('x'.repeat(1000))
  }
}

function keepsLittle(t: Test, selectorOf: (i: number) => string): void {
  // Warm-up: caches other than plans do not count.
  plan(selectorOf, 0)
  const before = usedBytes()
  plan(selectorOf, plans)
  const bytes = (usedBytes() - before) / plans
  t.ok(bytes < planBytesMax, `${selectorOf(0)}: ${Math.round(bytes)} bytes each`)
}

function removalSelector(i: number): string {
  const removal = parseRemoval(`when no updates for 1h remove '?plant/line-${i}/removed/'${' '.repeat(8000)}`)
  if ('problem' in removal) throw new Error(removal.problem)
  return removal.selector ?? ''
}

t.test('cached plans do not keep pools of buffers or texts of removals alive', async (t) => {
  keepsLittle(t, (i) => `plant/line-${i}/sensor`)
  keepsLittle(t, (i) => `*plant/line-${i}//`)
  keepsLittle(t, (i) => `?passing/${i}/`)
  keepsLittle(t, (i) => `#plant/${i}////?passing/${i}/`)
  keepsLittle(t, removalSelector)
})
