/** The primary decides whether the service is ready, and gives the reasons if it is not. */
import t from 'tap'
import type { Child } from '../../dist/cluster/primary/child.js'
import { Readiness } from '../../dist/cluster/primary/readiness.js'

const worker = { heardMs: Number.POSITIVE_INFINITY } as Child

function readiness(state: { writer?: Child; writerAbsentMs?: number; serving?: readonly Child[] }): Readiness {
  return new Readiness({
    stopping: () => false,
    expected: () => 1,
    serving: () => state.serving ?? [worker],
    writers: { current: () => state.writer, absentMs: () => state.writerAbsentMs ?? 0 },
  })
}

t.test('the service is not ready once it has had no writer for 5 s', async (t) => {
  t.strictSame(readiness({ writerAbsentMs: 4999 }).notReadyReasons(), [])
  const reason = 'there has been no writer for several seconds, so writes are waiting'
  t.strictSame(readiness({ writerAbsentMs: 5000 }).notReadyReasons(), [reason])
})

t.test('the service is not ready while the disk is nearly full', async (t) => {
  const writer = { heardMs: Number.POSITIVE_INFINITY, writable: false } as Child
  t.strictSame(readiness({ writer }).notReadyReasons(), ['the disk is nearly full'])
})

t.test('the service is not ready while a worker is missing', async (t) => {
  t.strictSame(readiness({ serving: [] }).notReadyReasons(), ['0 of 1 workers are serving'])
})
