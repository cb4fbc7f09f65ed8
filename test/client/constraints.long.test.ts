/** Constraints, batches, and the updates that are made of them. */
import t from 'tap'
import { type Constraint, connect, jsonText, TopicdError } from '../../dist/client/index.js'
import { at, present } from '../support/elements.js'
import { startServer } from '../support/service/server.js'
import { startStub } from '../support/service/stub.js'

const server = await startServer(t, { workers: 2 })

const topics = connect(server.url, { key: server.token })

async function refusalOf(request: Promise<unknown>): Promise<Pick<TopicdError, 'status' | 'code' | 'operation'>> {
  const error = await request.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(error instanceof TopicdError)) throw error ?? new Error('it was not refused')
  const { status, code, operation } = error
  return { status, code, operation }
}

const unsatisfied = { status: 409, code: 'unsatisfied_constraint', operation: undefined }

t.test('each write is refused unless its constraint holds', async (t) => {
  type Write = (path: string, constraint: Constraint) => Promise<unknown>
  const writes: Readonly<Record<string, Write>> = {
    set: (path, constraint) => topics.set(path, 1, { constraint }),
    addAndSet: (path, constraint) => topics.addAndSet(path, 1, { constraint }),
    add: (path, constraint) => topics.add(path, { constraint }),
    remove: (path, constraint) => topics.remove(path, { constraint }),
  }
  const constraints: readonly (readonly [string, Constraint, holds: boolean])[] = [
    ['a value', { value: { a: 1 } }, true],
    ['a text', { value: jsonText('{"a":1}') }, true],
    ['another text', { value: jsonText('{"a":1.0}') }, false],
    ['no value', { no_value: true }, false],
    ['no topic', { no_topic: true }, false],
  ]
  for (const [route, write] of Object.entries(writes)) {
    for (const [name, constraint, holds] of constraints) {
      await topics.addAndSet('valued', { a: 1 })
      const request = write('valued', constraint)
      if (holds) t.ok(await request, `${route}: ${name}`)
      else t.strictSame(await refusalOf(request), unsatisfied, `${route}: ${name}`)
    }
  }
})

t.test('a constraint on a version holds until the topic is changed', async (t) => {
  const versionOf = async (path: string) => present((await topics.get(path, { with_version: true }))?.version)
  const versioned = (version: number) => ({ constraint: { version } })
  await topics.addAndSet('v', 1)
  const first = await versionOf('v')
  t.strictSame(await topics.set('v', 2, versioned(first)), { path: 'v' })
  await topics.set('v', 1)
  const last = await versionOf('v')
  t.ok(last > first)
  for (const write of [
    () => topics.set('v', 3, versioned(first)),
    () => topics.addAndSet('v', 3, versioned(last - 1)),
    () => topics.add('v', versioned(last + 1)),
    () => topics.remove('v', versioned(first)),
    () => topics.addAndSet('none', 3, versioned(last)),
  ]) {
    t.strictSame(await refusalOf(write()), unsatisfied)
  }
  await topics.add('v', versioned(last))
  t.equal(await versionOf('v'), last, 'nothing was changed')
})

t.test('a batch is carried out in order and whole, or not at all', async (t) => {
  const answers = await topics.batch([
    { op: 'add', path: 'a' },
    { op: 'addAndSet', path: 'b', value: jsonText('1.10') },
    { op: 'set', path: 'a', value: 'x', constraint: { no_value: true } },
    { op: 'remove', path: 'b', constraint: { value: jsonText('1.10') } },
    { op: 'remove', path: 'b' },
  ])
  // The types of the answers are those of the operations.
  const created: boolean = answers[0].created && answers[1].created
  const path: string = answers[2].path
  const removed: number = answers[3].removed + answers[4].removed
  t.strictSame([created, path, removed], [true, 'a', 1])
  t.strictSame(
    await refusalOf(
      topics.batch([
        { op: 'set', path: 'a', value: 'y' },
        { op: 'add', path: 'c', constraint: { no_topic: true } },
        { op: 'set', path: 'none', value: 1 },
      ]),
    ),
    { status: 400, code: 'no_such_topic', operation: 2 },
  )
  t.strictSame(await refusalOf(topics.batch([{ op: 'remove', path: 'a', constraint: { value: 'y' } }])), {
    ...unsatisfied,
    operation: 0,
  })
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
      const answer = await topics.update(
        'counter',
        (item) => {
          calls++
          return (item === undefined ? 0 : Number(item.value)) + 1
        },
        { attemptsMax: 100 },
      )
      if (answer?.created) created++
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
  t.equal((await topics.get('counter'))?.value, writers * increments)
  t.equal(created, 1, 'one of them created it')
  t.ok(calls > writers * increments, `${calls} attempts`)
})

t.test('an update sees an absent topic, one without a value, and every digit', async (t) => {
  t.equal(await topics.update('u', (item) => item?.value), undefined, 'nothing to write')
  t.equal(await topics.get('u'), undefined)
  await topics.add('u')
  t.strictSame(await topics.update('u', (item) => jsonText(`[${item?.text ?? '12345678901234567890'}]`)), {
    path: 'u',
    created: false,
  })
  await topics.update('u', async (item) => jsonText(`[${item?.text},1.10]`))
  t.equal((await topics.get('u'))?.text, '[[12345678901234567890],1.10]')
  await t.rejects(
    topics.update('u', () => {
      throw new RangeError('not this one')
    }),
    RangeError,
  )
})

t.test('an update notices what leaves the value as it was', async (t) => {
  const changes: Readonly<Record<string, () => Promise<unknown>>> = {
    'a value that was changed and changed back': () => topics.set('same', 2).then(() => topics.set('same', 1)),
    'a value that was set again': () => topics.set('same', 1),
    'another topic at the path': () => topics.remove('same').then(() => topics.addAndSet('same', 1)),
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

t.test('an update of a value needs room for the new one only', async (t) => {
  // Of the 1 MiB that a body may have.
  const most = 'x'.repeat(1_000_000)
  await topics.addAndSet('large', most)
  await topics.update('large', (item) => `${item?.value}y`)
  t.equal((await topics.get('large'))?.value, `${most}y`)
})

t.test('an update gives up after attemptsMax attempts', async (t) => {
  await topics.addAndSet('busy', 0)
  for (const attemptsMax of [1, 3]) {
    let calls = 0
    const update = topics.update(
      'busy',
      async () => {
        calls++
        await topics.set('busy', -Math.random())
        return 1
      },
      { attemptsMax },
    )
    t.strictSame(await refusalOf(update), unsatisfied)
    t.equal(calls, attemptsMax)
  }
})

t.test('an update whose write loses its connection is not repeated', async (t) => {
  const item = '{"path":"a","type":"json","version":1,"updated":"2026-11-24T16:04:05.123Z","value":1}'
  const stub = await startStub(t, ({ path }) => (path === '/topics/set' ? 'close' : { text: item }))
  const update = connect(stub.url, { key: 'k' }).update('a', (item) => Number(item?.value) + 1)
  await t.rejects(update, TypeError)
  t.strictSame(
    stub.requests.map(({ path }) => path),
    ['/topics/fetch', '/topics/set'],
  )
})

t.test('an update sends its type and properties, and waits between attempts unless it is aborted', async (t) => {
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
  t.strictSame(JSON.parse(at(stub.requests, 1).text), {
    path: 'a',
    value: 'x',
    type: 'string',
    properties,
    constraint: { no_topic: true },
  })
})
