/** Writes that return the version of their change: on each route, in batches, and where no version exists. */
import t from 'tap'
import { answers, gives, type Row } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

await overStores(t, async (t, { post, addKey }) => {
  await post('remove', { selector: '*.*' })

  /** A topic's version as a fetch shows it. */
  const versionOf = async (path: string): Promise<number> => {
    const { text } = await post('fetch', { path, type: 'any', with_version: true })
    return (JSON.parse(text) as { version: number }).version
  }

  await t.test('each write route returns, as its last member, the version that the next fetch shows', async (t) => {
    for (const [route, body, rest] of [
      ['add', { path: 'a' }, '"path":"a","created":true'],
      ['add', { path: 'a' }, '"path":"a","created":false'],
      ['addAndSet', { path: 'a', value: 1 }, '"path":"a","created":false'],
      ['add', { path: '/a/', type: 'string' }, '"path":"a","created":false'],
      ['set', { path: 'a', value: 2 }, '"path":"a"'],
      ['set', { path: 'a', increment: 0.5 }, '"path":"a","value":2.5'],
    ] as const) {
      const answer = await post(route, { ...body, with_version: true })
      gives(t, answer, `{${rest},"version":${await versionOf('a')}}`, `${route} ${JSON.stringify(body)}`)
    }
    const last = await versionOf('a')
    const { text } = await post('remove', { path: 'a', with_version: true })
    const { version, ...removed } = JSON.parse(text) as { version: number }
    t.strictSame(removed, { removed: 1 })
    t.ok(version > last, 'a removal has its own version')
    const { text: added } = await post('add', { path: 'a', with_version: true })
    t.ok((JSON.parse(added) as { version: number }).version > version, 'another topic at the path')
  })

  await t.test('each result of a batch has its own version, if the batch requests versions', async (t) => {
    const operations = [
      { op: 'addAndSet', path: 'b', value: 1 },
      { op: 'increment', path: 'b', increment: 1 },
      { op: 'add', path: 'b' },
      { op: 'remove', path: 'b/no' },
      { op: 'addAndSet', path: 'b/x', value: 1 },
      { op: 'remove', path: 'b/x' },
    ]
    const results = async (body: object) =>
      (JSON.parse((await post('batch', body)).text) as { results: { code?: string; version?: number }[] }).results
    for (const atomic of [true, false]) {
      const found = await results({ operations, atomic, with_version: true })
      const [set, sum, present, none, brief, gone] = found.map(({ version }) => version ?? 0)
      t.equal(sum, await versionOf('b'), 'the last change')
      t.equal(present, sum, 'an add that changed nothing')
      t.ok(Number(set) < Number(sum) && Number(brief) < Number(gone), 'earlier changes have smaller versions')
      t.equal(none, 0, 'nothing was removed')
    }
    const refused = await results({
      operations: [{ op: 'set', path: 'no', value: 1 }],
      atomic: false,
      with_version: true,
    })
    t.strictSame(Object.keys(refused[0] ?? {}), ['code', 'message'])
    const plain = await results({ operations })
    t.notOk(
      plain.some((result) => 'version' in result),
      'no versions by default',
    )
  })

  await t.test('a write without a change returns no version, and an invalid request for one is rejected', async (t) => {
    const version = { with_version: true }
    const rows: readonly Row[] = [
      ['remove', { path: 'none', ...version }, '{"removed":0}'],
      ['remove', { path: 'none', with_version: false, dry_run: true }, '{"removed":0}'],
      ['remove', { path: 'none', ...version, dry_run: true }, 'invalid_parameter', '"with_version"', '"dry_run"'],
      ['remove', { selector: '*none//', ...version }, 'invalid_parameter', '"with_version"', 'requires "path"'],
      ['set', { path: 'a', value: 1, with_version: 1 }, 'invalid_parameter', '"with_version"', 'true or false'],
    ]
    await answers(t, post, rows)
    const inOperation = await post('batch', { operations: [{ op: 'remove', path: 'a', ...version }] })
    t.match(inOperation, { status: 400, code: 'unknown_parameter' })
  })

  await t.test('a key without the permission to fetch gets no version', async (t) => {
    const token = await addKey('no-versions', { allow: ['set', 'add', 'remove'] })
    const body = { path: 'k', value: 1 }
    const rows: readonly Row[] = [
      ['addAndSet', { ...body, with_version: true }, 'forbidden_operation'],
      ['batch', { operations: [{ op: 'add', path: 'k' }], with_version: true }, 'forbidden_operation'],
      ['addAndSet', { ...body, with_version: false }, '{"path":"k","created":true}'],
      ['remove', { path: 'k', with_version: true }, 'forbidden_operation'],
    ]
    for (const [route, sent, answer] of rows) {
      const { status, code, text } = await post(route, sent, { token })
      t.equal(status === 200 ? text : code, answer, `${route} ${JSON.stringify(sent)}`)
    }
  })
})
