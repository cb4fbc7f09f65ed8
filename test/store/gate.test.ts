/** When the gate lets writes pass: a lone one at once, others together with those of the next turns, in order. */
import t from 'tap'
import { gateTurnsMax } from '../../dist/limits.js'
import { Gate } from '../../dist/store/lmdb/gate.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A gate, and the numbers of the writes that have passed it. */
function makeGate(): { readonly passed: number[]; readonly pass: (number: number, inFlight: boolean) => void } {
  const gate = new Gate()
  const passed: number[] = []
  return { passed, pass: (number, inFlight) => gate.pass(() => void passed.push(number), inFlight) }
}

await t.test('a lone write passes at once, and so does the next one after it', async (t) => {
  const { passed, pass } = makeGate()
  for (let number = 0; number < 3; number++) {
    pass(number, false)
    t.equal(passed.length, number + 1)
    await turn()
  }
})

await t.test('beside a write in flight, writes pass together after a turn without another one, in order', async (t) => {
  const { passed, pass } = makeGate()
  pass(0, true)
  pass(1, true)
  t.same(passed, [])
  await turn()
  t.same(passed, [], 'the turn brought two')
  await turn()
  t.same(passed, [0, 1], 'the next one brought none')
})

await t.test(
  'after writes that passed together, the first of a turn waits for others even with none in flight',
  async (t) => {
    const { passed, pass } = makeGate()
    pass(0, true)
    pass(1, true)
    await turn()
    await turn()
    pass(2, false)
    t.same(passed, [0, 1])
    await turn()
    await turn()
    t.same(passed, [0, 1, 2])
    pass(3, false)
    t.same(passed, [0, 1, 2, 3], 'it had no company, so the next one passes at once')
  },
)

await t.test(`writes that keep coming wait for ${gateTurnsMax} turns at most`, async (t) => {
  const { passed, pass } = makeGate()
  let number = 0
  let turns = 0
  while (passed.length === 0 && turns < 2 * gateTurnsMax) {
    pass(number++, true)
    await turn()
    turns++
  }
  t.equal(turns, gateTurnsMax)
  t.same(
    passed,
    Array.from({ length: number }, (_, i) => i),
  )
})

await t.test('a write that is passed while the gate opens waits for the next opening', async (t) => {
  const gate = new Gate()
  const passed: string[] = []
  gate.pass(() => {
    passed.push('first')
    gate.pass(() => void passed.push('second'), true)
  }, true)
  await turn()
  await turn()
  t.same(passed, ['first'])
  await turn()
  await turn()
  t.same(passed, ['first', 'second'])
})
