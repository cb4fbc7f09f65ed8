/**
 * A batch that fails while it is being written, by a defect or by damaged pages, ends the writer before the commit, and
 * every writer that it is sent to: none of it is there afterwards, and its client is told that its outcome is unknown.
 */
import { join } from 'node:path'
import t from 'tap'
import { writerSendsMax } from '../../dist/store/lmdb/write/link.js'
import { patchedProgram } from '../support/faults/patched.js'
import { startServer } from '../support/service/server.js'

const poisoned = `
export * from './sound-slab.js'
import { putItem as soundPutItem } from './sound-slab.js'
export function putItem(tree, path, ...rest) {
  if (path === 'poisoned' && rest[0].end - rest[0].start > 50) throw new Error('planted')
  return soundPutItem(tree, path, ...rest)
}
`

const program = patchedProgram(join(t.testdir(), 'program'), 'store/lmdb/write/slab.js', poisoned)

t.test('nothing of a batch that fails half-way is there', async (t) => {
  const server = await startServer(t, { program })
  for (const path of ['a', 'poisoned', 'z']) await server.post('addAndSet', { path, value: 1 })
  const operations = ['a', 'poisoned', 'z'].map((path) => ({ op: 'set', path, value: 'x'.repeat(50) }))
  const answer = await server.connect().post('batch', { operations })
  t.match(answer, { status: 503, text: '"code":"unknown_outcome"' })
  t.match(await server.logged('commit failed; the writer ends'), { cause: 'Error: planted' })
  t.equal(server.output.split('"writer died"').length - 1, writerSendsMax, 'it was sent to so many writers')
  for (const path of ['a', 'poisoned', 'z']) {
    t.match(await server.connect().post('fetch', { path }), { text: `{"path":"${path}","type":"json","value":1}` })
  }
})
