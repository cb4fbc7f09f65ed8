/**
 * The client's types in a strict program without skipLibCheck, with the types of Node.js, of browsers, and of both.
 * packages/client tests that the packages contain them.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dom, findings, platforms } from '../support/checked-types.js'
import { root } from '../support/documents.js'

const client = join(root, 'dist/client/index.js')

/** A program that uses every part, with errors that the type checker must find. */
const program = `
import { type Client, connect, type ConnectOptions, type Constraint } from '${client}'
import type { Item, Operation, TopicChange } from '${client}'

const options: ConnectOptions = { key: 'k', fetch, timeoutMs: 1000 }
const topics: Client = connect('http://127.0.0.1:8080', options)

export async function use(signal: AbortSignal): Promise<void> {
  const item: Item | undefined = await topics.get('a', { type: 'any', with_properties: true, signal })
  const constraint: Constraint = { no_topic: true }
  const [first, second] = await topics.batch([{ op: 'add', path: 'a', constraint }, { op: 'remove', path: 'b' }])
  const operations: Operation[] = [{ op: 'set', path: 'a', value: first.created }]
  for (const answer of await topics.batch(operations)) console.log(answer, second.removed)
  // @ts-expect-error an option that does not exist
  await topics.get('a', { withValues: false })
  // @ts-expect-error a value must be given
  await topics.set('a')
  // @ts-expect-error the type of a value is unknown
  console.log(item?.value.n)
  // @ts-expect-error the result of a removal has no such member
  console.log(second.created)
  // @ts-expect-error a removal by selector is not an operation
  await topics.batch([{ op: 'remove', selector: '*a//' }])
  // @ts-expect-error no such constraint
  await topics.set('a', 1, { constraint: { noTopic: true } })
}

/** An option may be undefined, even with exactOptionalPropertyTypes. */
export function withUndefined(type: 'json' | undefined, signal: AbortSignal | undefined): void {
  connect('http://127.0.0.1:8080', { key: 'k', fetch: undefined, timeoutMs: undefined })
  void topics.get('a', { type, with_version: undefined, signal })
  void topics.set('a', 1, { type, constraint: undefined, with_version: undefined, signal })
  void topics.update('a', () => 1, { type, properties: undefined, attemptsMax: undefined, signal })
  void topics.upload([{ op: 'set', path: 'a', value: 1, type }], { onProgress: undefined, onRefused: undefined })
}

type IsAny<Type> = 0 extends 1 & Type ? true : false

export function listen(): void {
  const live = topics.follow('*a//')
  live.addEventListener('change', (event) => {
    const isAny: IsAny<typeof event.detail> = false
    const item: Item | undefined = event.detail.item
    console.log(isAny, event.detail.path.length, item)
  })
  live.addEventListener('error', ({ detail }) => console.log(detail satisfies unknown, false satisfies IsAny<typeof detail>))
  const listener = { handleEvent: ({ detail }: CustomEvent<TopicChange>) => console.log(detail.path) }
  live.addEventListener('change', listener, { once: true })
  live.removeEventListener('change', listener)
  const target: EventTarget = topics.changes('*a//')
  topics.changes('*a//').addEventListener('disconnected', ({ detail }) => console.log(detail.error, target))
  // @ts-expect-error no such member
  live.addEventListener('change', (event) => event.detail.pth)
}

export async function versions(isShown: boolean): Promise<readonly number[]> {
  const shown = { with_version: true } as const
  const { version } = await topics.set('a', 1, { with_version: true })
  const { version: sum } = await topics.increment('a', 1, shown)
  const { version: added } = await topics.addAndSet('a', 1, { ...shown, type: 'json' })
  const [first, second] = await topics.batch([{ op: 'add', path: 'a' }, { op: 'remove', path: 'b' }], shown)
  const [third] = await topics.batchEach([{ op: 'increment', path: 'a', increment: 1n }], { with_version: true })
  // @ts-expect-error undefined if nothing was removed
  const removed: number = second.version
  // @ts-expect-error not always shown
  const perhaps: number = (await topics.set('a', 1, { with_version: isShown })).version
  // @ts-expect-error not shown
  const hidden: number = (await topics.add('a')).version
  // @ts-expect-error no such option
  await topics.set('a', 1, { with_version: true, constrain: { no_value: true } })
  // @ts-expect-error a removal by selector has no version
  await topics.removeMatches('*a//', { with_version: true })
  return [version, sum, added, first.version, 'code' in third ? 0 : third.version, removed, perhaps, hidden]
}
`

for (const [platform, options] of Object.entries(platforms)) {
  t.test(`the types are correct in ${platform}`, (t) => {
    const file = join(t.testdir(), 'program.ts')
    writeFileSync(file, program)
    t.strictSame(findings(file, options), [])
    t.end()
  })
}

t.test("the client's source uses only types that browsers also have", async (t) => {
  const file = join(root, 'src/client/index.ts')
  const options = { ...platforms['a browser'], exactOptionalPropertyTypes: false }
  t.strictSame(findings(file, { ...options, lib: [...dom, 'lib.dom.asynciterable.d.ts'] }, '/src/client/'), [])
  t.ok(
    findings(file, { ...options, lib: ['lib.es2022.d.ts'] }, '/src/client/').length > 5,
    'without those types there are errors',
  )
})
