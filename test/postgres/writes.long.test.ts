/** Writes that share statements, on an engine of the test's own: what each is told is what becomes of it. */
import t from 'tap'
import { StoreError } from '../../dist/store/errors.js'
import { columnOf } from '../../dist/store/postgres/sql/arrays.js'
import { Writes } from '../../dist/store/postgres/write/writes.js'
import { encodeKey } from '../../dist/topics/key.js'
import { creation } from '../support/stores/store.js'

t.test('a write is not reported as failed because another one fails while it is tried again', async (t) => {
  const carriedOut: string[] = []
  // The topic "gone" is removed before it is read; "same" has properties that are compatible.
  const read = async () => [{ key: columnOf(encodeKey('same')), type: '1', properties: '{"a":"b"}', generation: '1' }]
  let creations = 0
  const execute = async (
    { logged }: { logged: { name: string } },
    groups: [{ id: string }][],
    parameters: unknown[],
  ) => {
    carriedOut.push(logged.name)
    if (logged.name.startsWith('overwrite_same')) throw new StoreError('unavailable', 'the engine is away')
    if (!logged.name.startsWith('create') || ++creations === 1) return []
    return groups.map(([{ id }]) => ({ key: id, generation: parameters.at(-1) }))
  }
  const writes = new Writes(read as never, read as never, { execute } as never)
  const write = (path: string) =>
    writes.write({ kind: 'addAndSet', ...creation(path), valueText: Buffer.from('1') }).catch((error: unknown) => error)
  const [gone, same] = await Promise.all([write('gone'), write('same')])
  await writes.drained()
  t.match(same, { kind: 'unavailable' })
  t.strictSame(gone, ['created'], 'it is carried out, and says so')
  t.comment(carriedOut.join())
  t.equal(creations, 2)
})
