/** Constraints, batches, and updates, which use constraints. */
import t from 'tap'
import { type Constraint, connect, type Item, jsonText, TopicdError } from '../../dist/client/index.js'
import { at } from '../support/elements.js'
import { startServer } from '../support/service/server.js'
import { startStub } from '../support/service/stub.js'

const server = await startServer(t, { workers: 2 })

const topics = connect(server.url, { key: server.token })

async function refusalOf(request: Promise<unknown>): Promise<Pick<TopicdError, 'status' | 'code' | 'operation'>> {
  const error: unknown = await request.catch((reason) => reason)
  if (!(error instanceof TopicdError)) throw new Error('the request was not rejected', { cause: error })
  const { status, code, operation } = error
  return { status, code, operation }
}

const unsatisfied = { status: 409, code: 'unsatisfied_constraint', operation: undefined }

const versionOf = async (path: string) => (await topics.get(path, { type: 'any', with_version: true }))?.version

t.test('each write accepts a constraint, and is rejected unless the constraint is met', async (t) => {
  for (const write of [
    (options: { constraint: Constraint }) => topics.set('valued', 1, options),
    (options: { constraint: Constraint }) => topics.addAndSet('valued', 1, options),
    (options: { constraint: Constraint }) => topics.add('valued', options),
    (options: { constraint: Constraint }) => topics.remove('valued', options),
  ]) {
    await topics.addAndSet('valued', { a: 1 })
    const { version = 0 } = { ...(await topics.get('valued', { with_version: true })) }
    for (const constraint of [{ no_topic: true }, { value: jsonText('{"a":1.0}') }, { version: version - 1 }] as const)
      t.strictSame(await refusalOf(write({ constraint })), unsatisfied)
    t.ok(await write({ constraint: { value: { a: 1 } } }))
  }
})

t.test('a batch is applied in order and as a whole, or not at all', async (t) => {
  const answers = await topics.batch([
    { op: 'add', path: 'a' },
    { op: 'addAndSet', path: 'b', value: jsonText('1.10') },
    { op: 'set', path: 'a', value: 'x', constraint: { no_value: true } },
    { op: 'remove', path: 'b', constraint: { value: jsonText('1.10') } },
    { op: 'remove', path: 'b' },
  ])
  // The results have the types of their operations.
  const created: boolean = answers[0].created && answers[1].created
  const path: string = answers[2].path
  const removed: number = answers[3].removed + answers[4].removed
  t.strictSame([created, path, removed], [true, 'a', 1])
  const refused = topics.batch([
    { op: 'set', path: 'a', value: 'y' },
    { op: 'add', path: 'c', constraint: { no_topic: true } },
    { op: 'set', path: 'none', value: 1 },
  ])
  t.strictSame(await refusalOf(refused), { status: 400, code: 'no_such_topic', operation: 2 })
  const unmet = topics.batch([{ op: 'remove', path: 'a', constraint: { value: 'y' } }])
  t.strictSame(await refusalOf(unmet), { ...unsatisfied, operation: 0 })
  t.equal((await topics.get('a'))?.value, 'x')
  t.equal(await topics.get('c'), undefined)
})

t.test('concurrent updates of one topic are all counted', async (t) => {
  const writers = 8
  const increments = 5
  let calls = 0
  let created = 0
  const write = async () => {
    for (let i = 0; i < increments; i++) {
      const increment = (item: Item | undefined): number => {
        calls++
        return Number(item?.value ?? 0) + 1
      }
      if ((await topics.update('counter', increment, { attemptsMax: 100 }))?.created) created++
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
  t.equal((await topics.get('counter'))?.value, writers * increments)
  t.equal(created, 1, 'exactly one update created the topic')
  t.ok(calls > writers * increments, `${calls} attempts`)
})

t.test('the callback of update() gets a missing topic, one without a value, and every digit of a value', async (t) => {
  t.equal(await topics.update('u', (item) => item?.value), undefined, 'nothing to write')
  t.equal(await topics.get('u'), undefined)
  await topics.add('u')
  const updated = await topics.update('u', (item) => jsonText(`[${item?.text ?? '12345678901234567890'}]`))
  t.strictSame(updated, { path: 'u', version: await versionOf('u'), created: false })
  await topics.update('u', async (item) => jsonText(`[${item?.text},1.10]`))
  t.equal((await topics.get('u'))?.text, '[[12345678901234567890],1.10]')
  const thrown = topics.update('u', () => Promise.reject(new RangeError('not this one')))
  await t.rejects(thrown, RangeError)
  const created = await topics.update('new', () => 1)
  t.strictSame(created, { path: 'new', created: true, version: await versionOf('new') })
})

t.test('writes return the version of their change if it is requested', async (t) => {
  const asked = { with_version: true } as const
  const writes: readonly (() => Promise<{ readonly version?: number | undefined }>)[] = [
    () => topics.add('v', asked),
    () => topics.addAndSet('v', 1, asked),
    () => topics.set('v', 2, asked),
    () => topics.increment('v', 1, asked),
    async () => (await topics.batch([{ op: 'set', path: 'v', value: 1 }], asked))[0],
    async () => Object((await topics.batchEach([{ op: 'add', path: 'v' }], asked))[0]) as { version?: number },
  ]
  for (const write of writes) t.equal((await write()).version, await versionOf('v'), String(write))
  const last = (await versionOf('v')) ?? 0
  t.ok(((await topics.remove('v', asked)).version ?? 0) > last, 'a removal')
  t.strictSame(await topics.remove('v', asked), { removed: 0 })
})

t.test('update() detects changes that leave the value the same', async (t) => {
  const changes: Readonly<Record<string, () => Promise<unknown>>> = {
    'a value that was changed and restored': () => topics.set('same', 2).then(() => topics.set('same', 1)),
    'a value that was set again': () => topics.set('same', 1),
    'a recreated topic': () => topics.remove('same').then(() => topics.addAndSet('same', 1)),
  }
  for (const [name, change] of Object.entries(changes)) {
    await topics.addAndSet('same', 1)
    let calls = 0
    await topics.update('same', async () => {
      if (++calls === 1) await change()
      return calls
    })
    t.equal(calls, 2, name)
    t.equal((await topics.get('same'))?.value, 2)
  }
})

t.test('update() fails after attemptsMax attempts', async (t) => {
  await topics.addAndSet('busy', 0)
  for (const attemptsMax of [1, 3]) {
    let calls = 0
    const change = () => topics.set('busy', ++calls)
    t.strictSame(await refusalOf(topics.update('busy', change, { attemptsMax })), unsatisfied)
    t.equal(calls, attemptsMax)
  }
})

t.test('update() sends its type and properties, and waits between attempts unless it is aborted', async (t) => {
  const controller = new AbortController()
  const stub = await startStub(t, ({ path }) => {
    if (path === '/topics/fetch') return { status: 400, text: '{"code":"no_such_topic","message":"None."}' }
    controller.abort()
    return { status: 409, text: '{"code":"unsatisfied_constraint","message":"No."}' }
  })
  const topics = connect(stub.url, { key: 'k' })
  const properties = { REMOVAL: 'when no updates for 1d' }
  const update = topics.update('a', () => 'x', { type: 'string', properties, signal: controller.signal })
  await t.rejects(update, { name: 'AbortError' })
  const members = { value: 'x', type: 'string', properties, constraint: { no_topic: true }, with_version: true }
  t.strictSame(JSON.parse(at(stub.requests, 1).text), { path: 'a', ...members })
})
