/**
 * Removals that are only tried: they answer what the removal would, by path and by selector, within what the key may
 * touch, and change nothing.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { handleRemove } from '../../dist/api/remove.js'
import { accessOf } from '../../dist/auth/access.js'
import { Cancelled } from '../../dist/base/cancellation.js'
import { gives, refuses } from '../support/expected-answers.js'
import { seededRandom } from '../support/random.js'
import { overStores } from '../support/service/over-stores.js'
import type { Server } from '../support/service/server.js'
import { leastContext, load, openStore } from '../support/stores/store.js'

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

  await t.test('a try answers what the removal would, for topics of either type, and changes nothing', async (t) => {
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

  await t.test('dry_run is true or false, and only removals have it', async (t) => {
    for (const target of [{ path: 'a' }, { selector: '*a//' }]) {
      for (const found of [0, 1, 'true', null, [], {}]) {
        const answer = await post('remove', { ...target, dry_run: found })
        const expectation = JSON.stringify({ ...target, dry_run: found })
        refuses(t, answer, 400, 'invalid_parameter', expectation, '"dry_run"', 'true or false')
      }
    }
    for (const [route, body] of [
      ['set', { path: 'a', value: 2 }],
      ['addAndSet', { path: 'a', value: 2 }],
      ['add', { path: 'new' }],
      ['fetch', { path: 'a' }],
    ] as const) {
      refuses(t, await post(route, { ...body, dry_run: true }), 400, 'unknown_parameter', route, '"dry_run"')
    }
    const twice = await post('remove', '{"path":"a","dry_run":true,"dry_run":false}')
    refuses(t, twice, 400, 'duplicate_parameter', 'given twice', '"dry_run"')
    refuses(t, await post('remove', { dry_run: true }), 400, 'path_or_selector', 'with neither')
    refuses(t, await post('remove', { selector: '%', dry_run: true }), 400, 'invalid_selector', 'an invalid selector')
    t.equal(await state(), before, 'nothing has changed')
  })

  await t.test('a try needs the right to remove, and counts only what the key may touch', async (t) => {
    const [reader, restricted] = await Promise.all([
      addKey('no-removals', { allow: ['fetch', 'set', 'add'] }),
      addKey('below-a-b', { allow: ['remove'], under: ['a/b', 'b'] }),
    ])
    for (const target of [{ path: 'a' }, { selector: '*a//' }]) {
      const answer = await post('remove', { ...target, dry_run: true }, { token: reader })
      refuses(t, answer, 403, 'forbidden_operation', JSON.stringify(target), 'may not remove')
    }
    for (const [selector, removed] of [
      ['*.*', 3],
      ['*a//', 2],
      ['*ab', 0],
      ['?b/', 1],
    ] as const) {
      const answer = await post('remove', { selector, dry_run: true }, { token: restricted })
      gives(t, answer, `{"removed":${removed}}`, selector)
    }
    gives(t, await post('remove', { path: 'a/b', dry_run: true }, { token: restricted }), '{"removed":1}', 'inside')
    const outside = await post('remove', { path: 'a/d', dry_run: true }, { token: restricted })
    refuses(t, outside, 403, 'forbidden_path', 'a path outside')
    t.equal(await state(), before, 'nothing has changed')
  })

  await t.test('a topic that is replaced in one step is there all the while', (t) => swapped(t, server))

  await t.test('in a random tree a try answers the count of the removal that follows', (t) => randomTree(t, server))
})

/** A topic that is replaced all the while, by one of the other type, in one step. */
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

async function randomTree(t: Test, { post }: Server): Promise<void> {
  const random = seededRandom(t)
  const names = ['a', 'b', 'c', 'ab', 'é', 'a-b']
  const selectors = ['*a//', '?a/', '*.*b', '?.*/a//', '>a/b', '#>a////*b//', '*[ab].*', '?.*/.*', '?.*/é/', '*.*']
  let removed = 0
  for (let round = 0; round < 12; round++) {
    const operations = Array.from({ length: 60 }, () => {
      const path = Array.from({ length: 1 + random.below(4) }, () => random.pick(names)).join('/')
      return { op: 'add', path, type: random.pick(['json', 'string']) }
    })
    t.equal((await post('batch', { operations })).status, 200)
    const selector = random.pick(selectors)
    const tried = await post('remove', { selector, dry_run: true })
    const again = await post('remove', { selector, dry_run: true })
    const done = await post('remove', { selector })
    const found = [tried, again, done].map(({ status, text }) => `${status} ${text}`)
    t.equal(new Set(found).size, 1, `${selector}: ${found.join()}`)
    removed += (JSON.parse(done.text) as { removed: number }).removed
    gives(t, await post('remove', { selector, dry_run: true }), '{"removed":0}', `${selector}: then there is nothing`)
  }
  t.ok(removed > 100, `${removed} topics were removed`)
}

await t.test('a try by selector is given up once its client has gone', async (t) => {
  const dataDir = join(t.testdir(), 'db')
  const store = openStore(t, dataDir)
  await load(
    store,
    Array.from({ length: 3000 }, (_, i) => `c/${i}`),
  )
  const context = leastContext(store)
  const record = { name: 'all', tokenHash: '', allow: ['remove'], under: [], madeMs: 0 } as const
  const access = accessOf(record, undefined, { requests: 0 })
  const cancellation = new AbortController()
  const body = Buffer.from('{"selector":"*c//","dry_run":true}')
  t.match(await handleRemove(context, body, access, cancellation.signal), { status: 200, body: '{"removed":3000}' })
  const tried = Promise.resolve(handleRemove(context, body, access, cancellation.signal))
  cancellation.abort()
  t.ok(
    await tried.then(
      () => false,
      (reason: unknown) => reason instanceof Cancelled,
    ),
    'it is cancelled',
  )
})
