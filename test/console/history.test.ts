/** The Service page's memory of the service's responses: moments, gaps and the summary. */
import t from 'tap'
import { History } from '../../dist/console/service/history.js'
import { ServiceState } from '../../dist/console/service/service-state.js'
import type { ConsoleState, Moment } from '../../dist/ops/figures/console-state.js'

const momentsAt = (...timesS: readonly number[]): Moment[] => timesS.map((atS) => ({ atS, connections: 1 }))

/** The times of the moments, negative for gaps. */
const timesOf = ({ moments }: History): number[] => moments.map(({ atS, isGap }) => (isGap ? -atS : atS))

t.test("the samples of successive responses are joined, with times by the browser's clock", async (t) => {
  const history = new History()
  history.add(momentsAt(1100, 1105, 1110), 1110, 110)
  t.equal(history.sinceS, 1110)
  history.add(momentsAt(1112), 1112, 112)
  t.strictSame(timesOf(history), [100, 105, 110, 112])
  history.add([], 1121, 121)
  t.strictSame(timesOf(history).slice(-1), [-121], 'a moment from 9 s ago is not current')
  history.add(momentsAt(1114, 1123), 1123, 123)
  t.strictSame(timesOf(history).slice(3), [112, 114, -118.5, 123], 'no line crosses a pause')
  for (const atS of [125, 127, 129]) history.addGap(atS)
  history.add(momentsAt(1126, 1131), 1131, 131)
  t.strictSame(timesOf(history).slice(6), [123, -125, 126, 131], 'gaps are filled if the service has their moments')
})

t.test('the history keeps samples for ten minutes, and their times ascend even if a clock is set back', async (t) => {
  const history = new History()
  for (let s = 1000; s < 1800; s += 2) history.add(momentsAt(s), s, s)
  t.match([history.moments.length, timesOf(history)[0]], [300, 1200])
  history.add(momentsAt(1500), 1500, 1700)
  t.match(timesOf(history).slice(-2), [1698, 1700], "the service's")
  t.equal(history.sinceS, 1500)
  history.add(momentsAt(1502), 1502, 1400)
  t.match(timesOf(history).slice(-2), [1398, 1400], "the browser's")
  history.addGap(2000)
  t.strictSame(timesOf(history), [-2000], 'the limit itself is too old')
})

const answer = (members: Partial<ConsoleState>) => ({ text: JSON.stringify({ moments: [], ...members }) })

t.test('the summary shows whether the service is ready, or since when it has not responded', async (t) => {
  const state = new ServiceState()
  t.match(state.summary, { kind: 'waiting' })
  const silence = { problem: 'It is gone.', isSilent: true }
  for (const [received, expected] of [
    [silence, { kind: 'silent', title: 'No response', reasons: ['It is gone.'] }],
    [answer({ notReadyReasons: [] }), { kind: 'ready', title: 'Ready', reasons: [] }],
    [answer({ notReadyReasons: ['no'] }), { kind: 'not ready', title: 'Not ready', reasons: ['no'] }],
    [answer({ notReadyReasons: 7 as never }), { title: 'Readiness unknown' }],
    [silence, { kind: 'silent', title: /^No response since \d\d:\d\d:\d\d$/ }],
  ] as const) {
    state.add(received, 100)
    t.match(state.summary, expected)
  }
  state.add(answer({ notReadyReasons: [], moments: momentsAt(100), nowS: 100 }), 100)
  state.add(answer({ notReadyReasons: [], nowS: 109 }), 109)
  t.match(state.summary, { title: 'Ready', reasons: [/^The metrics cannot be read/] })
})

t.test('a response from another build is reported, and does not affect later responses', async (t) => {
  const state = new ServiceState()
  const of100 = JSON.stringify({ nowS: 100, runs: [{ series: ['topicd_connections'], samples: [[99, 1]] }] })
  for (const text of [of100, '<!doctype html>', 'null', '7', '']) {
    state.add({ text }, 100)
    t.match(state.summary, { title: 'Readiness unknown', reasons: [/Reload the page\.$/] }, text)
  }
  state.add(answer({ notReadyReasons: ['as before'] }), 102)
  t.match(state.summary, { title: 'Not ready' })
})
