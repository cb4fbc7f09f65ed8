/** The primary's writer and spare, with simulated processes and waits that are over immediately. */
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import t from 'tap'
import type { Start } from '../../dist/cluster/messages.js'
import type { Child, End } from '../../dist/cluster/primary/child.js'
import type { StoreOpener } from '../../dist/cluster/primary/store-opening.js'
import { Writers } from '../../dist/cluster/primary/writers.js'
import type { Logger } from '../../dist/ops/log.js'
import { first } from '../support/elements.js'
import { until } from '../support/service/server.js'

class SimulatedWriter {
  readonly process = { pid: 4711 }
  readonly startedMs = performance.now()
  readonly version = '1.2.3'
  readonly isStarted = true
  state = 'starting'
  end = (_: End): void => {}
  readonly ended = new Promise<End>((resolve) => (this.end = resolve))
  async waitFor(): Promise<void> {}
  send(): void {}

  enter(state: string): boolean {
    this.state = state
    return true
  }
}

t.test('the delay before each new writer is started doubles, up to five seconds', async (t) => {
  const { setTimeout } = timers
  const delaysMs: (number | undefined)[] = []
  timers.setTimeout = (async (ms?: number) => void delaysMs.push(ms)) as typeof setTimeout
  syncBuiltinESMExports()
  t.teardown(() => {
    timers.setTimeout = setTimeout
    syncBuiltinESMExports()
  })
  const forked: SimulatedWriter[] = []
  let failuresLeft = 0
  const opener = {
    async openWriter() {
      if (failuresLeft-- > 0) throw new Error('no room')
    },
  }
  const log = { error() {}, info() {}, warn() {} }
  const writers = new Writers({
    opener: opener as unknown as StoreOpener,
    log: log as unknown as Logger,
    fork() {
      const writer = new SimulatedWriter()
      forked.push(writer)
      return writer as unknown as Child
    },
  })
  await writers.begin({} as Start)
  failuresLeft = 10
  first(forked).end({ code: null, signal: 'SIGKILL', during: 'serving', mayHaveRead: true })
  await until('another process writes', async () => writers.restarts > 10 || undefined)
  await until('the other process has opened the store', async () => writers.current())
  t.strictSame(delaysMs, [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000], 'in ms')
})
