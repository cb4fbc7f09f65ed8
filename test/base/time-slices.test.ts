/** The division of a turn's time between requests that are handled on arrival and work that waits for slices. */
import t from 'tap'
import { inTurn, waitForSlice } from '../../dist/base/time-slices.js'
import { spin } from '../support/stores/store.js'

t.test('during an endless flood of requests, waiting work gets about as much time as the requests', async (t) => {
  let requestsMs = 0
  let isFlooding = true
  const flood = (): void => {
    inTurn(() => spin(10))
    requestsMs += 10
    if (isFlooding) setImmediate(flood)
  }
  flood()
  let slicesMs = 0
  while (slicesMs < 100) {
    const slice = await waitForSlice()
    const beganMs = performance.now()
    while (!slice.isOver());
    slicesMs += performance.now() - beganMs
  }
  isFlooding = false
  t.ok(requestsMs < 4 * slicesMs, `${requestsMs} ms of requests, ${slicesMs.toFixed()} ms of slices`)
})
