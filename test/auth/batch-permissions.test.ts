/**
 * The permissions for a batch and for a constraint: each operation needs those of its route, and a constraint on a value needs
 * the permission to fetch. The error names the first operation that the key may not execute, and nothing changes.
 */
import t from 'tap'
import { gives, refuses, refusesOperation } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

await overStores(t, async (t, { post, addKey }) => {
  const set = { op: 'set', path: 'p', value: 2 }
  const add = { op: 'add', path: 'p' }
  const addAndSet = { op: 'addAndSet', path: 'p', value: 2 }
  const remove = { op: 'remove', path: 'none' }
  const before = '{"path":"p","type":"json","value":1}'
  await post('addAndSet', { path: 'p', value: 1 })

  await t.test('each operation of a batch needs the permissions that its route requires', async (t) => {
    const kinds = [['fetch'], ['set'], ['add'], ['remove'], ['set', 'add']] as const
    const needs = { set: ['set'], add: ['add'], addAndSet: ['set', 'add'], remove: ['remove'] } as const
    for (const allow of kinds) {
      const token = await addKey(`only-${allow.join('-')}`, { allow })
      const may = (op: keyof typeof needs): boolean =>
        needs[op].every((need) => (allow as readonly string[]).includes(need))
      const operations = [set, add, addAndSet, remove]
      const allowed = operations.filter(({ op }) => may(op as keyof typeof needs))
      for (const operation of operations) {
        const answer = await post('batch', { operations: [...allowed, operation] }, { token })
        const expectation = `--allow ${allow.join()} ${operation.op}`
        if (allowed.includes(operation)) t.equal(answer.status, 200, expectation)
        else refusesOperation(t, answer, 403, 'forbidden_operation', allowed.length, expectation, 'may not')
      }
      await post('set', { path: 'p', value: 1 })
    }
    const token = await addKey('setter', { allow: ['set'] })
    const answer = await post('batch', { operations: [set, remove] }, { token })
    refusesOperation(t, answer, 403, 'forbidden_operation', 1, 'a set and a removal', 'may not remove')
    gives(t, await post('fetch', { path: 'p' }), before, 'nothing was set')
  })

  await t.test('each operation of a batch must stay within the subtrees of the key', async (t) => {
    const token = await addKey('under', { under: ['a/b'] })
    const inside = [
      { op: 'addAndSet', path: 'a/b', value: 1 },
      { op: 'add', path: 'a/b/c' },
      { op: 'set', path: 'a/b', value: 2 },
      { op: 'remove', path: 'a/b/c' },
    ]
    t.equal((await post('batch', { operations: inside }, { token })).status, 200, 'inside')
    for (const path of ['a', 'a/bb', 'a/b-c', 'p', 'none']) {
      for (const operation of inside) {
        const operations = [
          { op: 'set', path: 'a/b', value: 'changed' },
          { ...operation, path },
        ]
        const answer = await post('batch', { operations }, { token })
        refusesOperation(t, answer, 403, 'forbidden_path', 1, `${operation.op} ${path}`)
      }
    }
    const clause = (selector: string) => ({ REMOVAL: `when no updates for 1d remove '${selector}'` })
    for (const op of ['add', 'addAndSet']) {
      const operation = { op, path: 'a/b/r', ...(op === 'add' ? {} : { value: 1 }) }
      const outside = { ...operation, properties: clause('*a//') }
      const refused = await post('batch', { operations: [inside[2], outside] }, { token })
      refusesOperation(t, refused, 403, 'forbidden_path', 1, `${op} with a REMOVAL outside`)
      const wrong = { ...operation, properties: clause('%a') }
      const invalid = await post('batch', { operations: [inside[2], wrong] }, { token })
      refusesOperation(t, invalid, 400, 'invalid_property', 1, `${op} with a REMOVAL that is malformed`)
      const within = { ...operation, properties: clause('*a/b/r//') }
      t.equal((await post('batch', { operations: [within] }, { token })).status, 200, `${op} with a REMOVAL inside`)
      await post('remove', { path: 'a/b/r' })
    }
    const unable = await addKey('no-removals', { allow: ['set', 'add'] })
    const clearing = { op: 'add', path: 'a/b/r', properties: clause('*a/b/r//') }
    const answer = await post('batch', { operations: [inside[2], clearing] }, { token: unable })
    refusesOperation(t, answer, 403, 'forbidden_operation', 1, 'a REMOVAL without that permission', 'remove')
    gives(t, await post('fetch', { path: 'a/b' }), '{"path":"a/b","type":"json","value":2}', 'nothing else was changed')
  })

  await t.test('a constraint on a value or a version needs the permission to fetch, but others do not', async (t) => {
    const token = await addKey('no-fetch', { allow: ['set', 'add', 'remove'] })
    const bodies: readonly (readonly [route: string, body: object])[] = [
      ['set', { path: 'p', value: 1 }],
      ['addAndSet', { path: 'p', value: 1 }],
      ['add', { path: 'p' }],
      ['remove', { path: 'p' }],
      ['remove', { path: 'p', dry_run: true }],
    ]
    for (const [route, body] of bodies) {
      for (const constraint of [{ value: 1 }, { value: 2 }, { version: 1 }]) {
        const refused = await post(route, { ...body, constraint }, { token })
        refuses(t, refused, 403, 'forbidden_operation', `${route} ${JSON.stringify(constraint)}`, 'may not fetch')
        if ('dry_run' in body) continue
        const operations = [remove, { op: route, ...body, constraint }]
        const answer = await post('batch', { operations }, { token })
        refusesOperation(t, answer, 403, 'forbidden_operation', 1, `${route} in a batch`, 'may not fetch')
      }
      for (const constraint of [{ no_topic: true }, { no_value: true }]) {
        const allowed = await post(route, { ...body, constraint }, { token })
        refuses(t, allowed, 409, 'unsatisfied_constraint', `${route} with ${JSON.stringify(constraint)}`)
      }
    }
    const created = await post(
      'batch',
      { operations: [{ op: 'add', path: 'n', constraint: { no_topic: true } }] },
      { token },
    )
    gives(t, created, '{"results":[{"path":"n","created":true}]}', 'the key may create a missing topic')
    gives(t, await post('fetch', { path: 'p' }), before, 'nothing has changed')
  })
})
