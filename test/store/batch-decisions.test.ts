/** Decisions of requests one after the other, where one of them fails: its own operations leave no trace. */
import t from 'tap'
import { BatchDecisions, isRefused } from '../../dist/store/shared/batch.js'
import type { WriteAction } from '../../dist/store/topics.js'
import type { Path } from '../../dist/topics/path.js'

const unreadable = new Error('the topic cannot be read')

function decisions(): BatchDecisions<never, WriteAction> {
  return new BatchDecisions<never, WriteAction>({
    stored: (path) => {
      if (path === 'unreadable') throw unreadable
      return undefined
    },
    valueText: () => undefined,
    setterOf: (increment) => increment,
  })
}

const add = (path: string): WriteAction =>
  ({ kind: 'add', path: path as Path, type: 'json', properties: {}, removal: undefined }) as const
const remove = (path: string): WriteAction => ({ kind: 'remove', path: path as Path })

t.test('a request of which a topic cannot be read changes nothing', (t) => {
  const decided = decisions()
  t.throws(() => decided.decide([add('a'), remove('unreadable')], true), unreadable)
  t.strictSame([...decided.changes()], [])
  t.strictSame(decided.decide([add('a')], true), ['created'], 'the next one does not see it')
  t.end()
})

t.test('it leaves what earlier requests have changed', (t) => {
  const decided = decisions()
  t.strictSame(decided.decide([add('a')], true), ['created'])
  t.throws(() => decided.decide([remove('a'), add('b'), remove('unreadable')], true), unreadable)
  t.strictSame(
    [...decided.changes()].map(({ path }) => path),
    ['a'],
  )
  const refused = decided.decide([remove('a'), { kind: 'set', path: 'b' as Path, type: 'json' }], true)
  t.ok(isRefused(refused))
  t.strictSame(decided.decide([add('a')], true), ['present'])
  t.end()
})
