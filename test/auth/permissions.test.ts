/**
 * Permissions: a key may perform the operations that it was created for, in its subtrees, and no others.
 */

import t, { type Test } from 'tap'
import type { Operation } from '../../dist/keys/record.js'
import { present } from '../support/elements.js'
import { gives, refuses } from '../support/expected-answers.js'
import type { Answer } from '../support/service/client.js'
import { overStores } from '../support/service/over-stores.js'
import type { Server } from '../support/service/server.js'

/** The operations that each route needs; addAndSet needs two. */
const needs: Readonly<Record<string, readonly Operation[]>> = {
  fetch: ['fetch'],
  set: ['set'],
  add: ['add'],
  addAndSet: ['set', 'add'],
  remove: ['remove'],
}

const bodies: Readonly<Record<string, object>> = {
  fetch: { path: 'p' },
  set: { path: 'p', value: 2 },
  add: { path: 'p' },
  addAndSet: { path: 'p', value: 2 },
  remove: { path: 'none' },
}

await overStores(t, async (t, server) => {
  await t.test('a key may perform only its permitted operations', (t) => operations(t, server))
  await t.test('a key accesses only its subtrees', (t) => subtrees(t, server))
})

async function operations(t: Test, { post, addKey }: Server): Promise<void> {
  const kinds: readonly (readonly Operation[])[] = [
    ['fetch'],
    ['set'],
    ['add'],
    ['remove'],
    ['set', 'add'],
    ['fetch', 'remove'],
  ]
  const tokens = await Promise.all(kinds.map((allow) => addKey(`only-${allow.join('-')}`, { allow })))
  await post('addAndSet', { path: 'p', value: 1 })
  for (const [i, allowed] of kinds.entries()) {
    const kind = allowed.join(',')
    for (const [route, needed] of Object.entries(needs)) {
      const answer = await post(route, present(bodies[route]), { token: tokens[i] })
      if (needed.every((operation) => allowed.includes(operation)))
        t.equal(answer.status, 200, `--allow ${kind} may ${route}`)
      else refuses(t, answer, 403, 'forbidden_operation', `--allow ${kind} may not ${route}`)
    }
  }
  const [, set, add] = tokens
  await post('addAndSet', { path: 'q', value: 1 })
  await post('addAndSet', { path: 'q', value: 3 }, { token: set })
  await post('addAndSet', { path: 'new', value: 3 }, { token: add })
  gives(
    t,
    await post('fetch', { path: 'q' }),
    '{"path":"q","type":"json","value":1}',
    'addAndSet with --allow set does not set',
  )
  refuses(t, await post('fetch', { path: 'new' }), 400, 'no_such_topic', 'addAndSet with --allow add does not add')
}

async function subtrees(t: Test, { post, addKey }: Server): Promise<void> {
  const [token, both] = await Promise.all([
    addKey('under', { under: ['a/b'] }),
    addKey('under-two', { under: ['a/b/c', '/x/'] }),
  ])
  const inside = ['a/b', 'a/b/c', 'a/b/c/d']
  const outside = ['a', 'a/b-c', 'a/bb', 'a/c', 'b', 'x', 'x/y']
  for (const path of [...inside, ...outside]) await post('addAndSet', { path, value: path })
  await post('addAndSet', { path: 'a/b/s', type: 'string', value: 's' })
  const item = (path: string) => `{"path":"${path}","type":"json","value":"${path}"}`
  const page = (...paths: string[]) => `{"has_more":false,"results":[${paths.map(item).join(',')}]}`
  const act = (route: string, body: object, key = token): Promise<Answer> => post(route, body, { token: key })

  await t.test('a key may do everything inside its subtree', async (t) => {
    for (const path of inside) gives(t, await act('fetch', { path }), item(path), `fetch ${path}`)
    gives(t, await act('add', { path: 'a/b/new' }), '{"path":"a/b/new","created":true}', 'add')
    gives(t, await act('set', { path: 'a/b/new', value: 1 }), '{"path":"a/b/new"}', 'set')
    gives(t, await act('addAndSet', { path: '/a/b/new/', value: 2 }), '{"path":"a/b/new","created":false}', 'addAndSet')
    gives(t, await act('remove', { path: 'a/b/new' }), '{"removed":1}', 'remove')
  })

  await t.test("a path outside the key's subtrees is rejected on every route, with or without a topic", async (t) => {
    for (const path of [...outside, 'none', 'a/b-', 'A/b', 'a/B']) {
      refuses(t, await act('fetch', { path }), 403, 'forbidden_path', `fetch ${path}`)
      refuses(t, await act('set', { path, value: 1 }), 403, 'forbidden_path', `set ${path}`)
      refuses(t, await act('add', { path }), 403, 'forbidden_path', `add ${path}`)
      refuses(t, await act('addAndSet', { path, value: 1 }), 403, 'forbidden_path', `addAndSet ${path}`)
      refuses(t, await act('remove', { path }), 403, 'forbidden_path', `remove ${path}`)
    }
    for (const path of outside) gives(t, await post('fetch', { path }), item(path), `${path} is unchanged`)
  })

  await t.test("a selector fetches only from the key's subtrees", async (t) => {
    for (const selector of ['*.*', '?.*//', '*a//', '#*a//////*x//', '*a/b//']) {
      gives(t, await act('fetch', { selector }), page(...inside), selector)
    }
    for (const selector of ['*x//', '>a', 'a', '>b', '?[ab]'])
      gives(t, await act('fetch', { selector }), page(), selector)
    gives(t, await act('fetch', { selector: '>a/b/c' }), page('a/b/c'), 'a path inside')
    const two = await act('fetch', { selector: '*.*' }, both)
    gives(t, two, page('a/b/c', 'a/b/c/d', 'x', 'x/y'), 'two subtrees, in tree order')
  })

  await t.test("has_more and after do not reveal topics outside the key's subtrees", async (t) => {
    const last = await act('fetch', { selector: '*.*', size: 3 })
    gives(t, last, page(...inside), 'no more pages, although topics follow outside')
    gives(t, await act('fetch', { selector: '*.*', after: 'a' }), page(...inside), 'after a topic before the subtree')
    gives(t, await act('fetch', { selector: '*.*', after: 'b' }), page(), 'after a topic beyond the subtree')
    const across = await act('fetch', { selector: '*.*', after: 'a/b/c' }, both)
    gives(t, across, page('a/b/c/d', 'x', 'x/y'), 'across the gap between two subtrees')
  })

  await t.test("a selector removes only from the key's subtree", async (t) => {
    gives(t, await act('remove', { selector: '*x//' }), '{"removed":0}', 'a selector outside')
    gives(t, await act('remove', { selector: '*.*' }), '{"removed":4}', 'everything inside')
    const left = await post('fetch', { selector: '#*a//////*b//////*x//' })
    gives(t, left, page(...outside), 'topics outside stay')
  })
}
