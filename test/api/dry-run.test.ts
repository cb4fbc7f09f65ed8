/** Dry runs of removals: they return the count, limited to topics the key may access, and change nothing. */
import t, { type Test } from 'tap'
import { answers, gives, type Row } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'
import type { Server } from '../support/service/server.js'

const tree = ['a', 'a/b', 'a/b/c', 'a/d', 'a-b', 'ab', 'b/a']

await overStores(t, async (t, server) => {
  const { post, addKey } = server
  const state = async (): Promise<string> => {
    const pages = ['json', 'string'].map(
      async (type) => (await post('fetch', { selector: '*.*', type, size: 1000 })).text,
    )
    return (await Promise.all(pages)).join()
  }
  await post('remove', { selector: '*.*' })
  for (const path of tree) await post('addAndSet', { path, value: 1 })
  await post('addAndSet', { path: 'a/s', type: 'string', value: 'x' })
  await post('add', { path: 'a/e' })
  const before = await state()

  await t.test('a dry run returns the number of topics that a removal would remove, and changes nothing', async (t) => {
    const tries: readonly (readonly [target: object, removed: number])[] = [
      [{ path: 'a' }, 1],
      [{ path: '/a/b/' }, 1],
      [{ path: 'a/s' }, 1],
      [{ path: 'a/e' }, 1],
      [{ path: 'b' }, 0],
      [{ path: 'none' }, 0],
      [{ selector: '*a//' }, 6],
      [{ selector: '?a/' }, 5],
      [{ selector: '>a/s' }, 1],
      [{ selector: '#>a////>b/a////?a./' }, 2],
      [{ selector: '*none//' }, 0],
      [{ selector: '*.*' }, 9],
    ]
    for (const [target, removed] of tries) {
      const expectation = JSON.stringify(target)
      gives(t, await post('remove', { ...target, dry_run: true }), `{"removed":${removed}}`, expectation)
      t.equal(await state(), before, `${expectation}: nothing has changed`)
    }
    gives(t, await post('remove', { path: 'none', dry_run: false }), '{"removed":0}', 'false is the default')
  })

  const inTurn = async (t: Test, rows: readonly Row[], token?: string): Promise<void> => {
    await answers(t, post, rows, token)
    t.equal(await state(), before, 'nothing has changed')
  }

  await t.test('dry_run must be true or false, and only removals accept it', (t) =>
    inTurn(t, [
      ...[{ path: 'a' }, { selector: '*a//' }].flatMap((target) =>
        [0, 'true', null, []].map((found): Row => {
          return ['remove', { ...target, dry_run: found }, 'invalid_parameter', '"dry_run"', 'true or false']
        }),
      ),
      ['set', { path: 'a', value: 2, dry_run: true }, 'unknown_parameter', '"dry_run"'],
      ['addAndSet', { path: 'a', value: 2, dry_run: true }, 'unknown_parameter', '"dry_run"'],
      ['add', { path: 'new', dry_run: true }, 'unknown_parameter', '"dry_run"'],
      ['fetch', { path: 'a', dry_run: true }, 'unknown_parameter', '"dry_run"'],
      ['remove', '{"path":"a","dry_run":true,"dry_run":false}', 'duplicate_parameter', '"dry_run"'],
      ['remove', { dry_run: true }, 'path_or_selector'],
      ['remove', { selector: '%', dry_run: true }, 'invalid_selector'],
    ]),
  )

  await t.test('a dry run needs the permission to remove and counts only accessible topics', async (t) => {
    const tried = (target: object, answer: string, ...mentions: readonly string[]): Row => {
      return ['remove', { ...target, dry_run: true }, answer, ...mentions]
    }
    const reader = await addKey('no-removals', { allow: ['fetch', 'set', 'add'] })
    const refusal = ['forbidden_operation', 'may not remove'] as const
    await inTurn(t, [tried({ path: 'a' }, ...refusal), tried({ selector: '*a//' }, ...refusal)], reader)
    const rows = [
      tried({ selector: '*.*' }, '{"removed":3}'),
      tried({ selector: '*a//' }, '{"removed":2}'),
      tried({ selector: '*ab' }, '{"removed":0}'),
      tried({ selector: '?b/' }, '{"removed":1}'),
      tried({ path: 'a/b' }, '{"removed":1}'),
      tried({ path: 'a/d' }, 'forbidden_path'),
    ]
    await inTurn(t, rows, await addKey('below-a-b', { allow: ['remove'], under: ['a/b', 'b'] }))
  })

  await t.test('a dry run always counts a topic that batches keep replacing with a topic of the other type', (t) =>
    swapped(t, server),
  )
})

/** A topic that is continually replaced, in one step, by a topic of the other type. */
async function swapped(t: Test, server: Server): Promise<void> {
  await server.post('add', { path: 'swapped' })
  let done = false
  const swapping = (async () => {
    const client = server.connect()
    for (let i = 0; !done; i++) {
      const type = i % 2 === 0 ? 'string' : 'json'
      const operations = [
        { op: 'remove', path: 'swapped' },
        { op: 'add', path: 'swapped', type },
      ]
      await client.post('batch', { operations })
    }
  })()
  const found = new Set<string>()
  for (let i = 0; i < 1000; i++) found.add((await server.post('remove', { path: 'swapped', dry_run: true })).text)
  done = true
  await swapping
  t.strictSame([...found], ['{"removed":1}'])
}
