/** A tree of names that follows the service, compared with listings while random topics are added and removed. */
import t from 'tap'
import { LiveTree } from '../../dist/client/changes/live-tree.js'
import { type Client, connect } from '../../dist/client/index.js'
import { FaultProxy } from '../support/faults/fault-proxy.js'
import { seededRandom } from '../support/random.js'
import { startServer, until } from '../support/service/server.js'

t.setTimeout(600_000)

const server = await startServer(t, { workers: 2 })

async function listed(client: Client, path: string): Promise<string> {
  const children = []
  for await (const child of client.list(path)) children.push(child)
  return JSON.stringify(children)
}

/** Waits until each open level equals a listing. */
async function isCurrent(client: Client, tree: LiveTree): Promise<void> {
  for (const path of tree.opened) {
    await until(`the level "${path}"`, async () => {
      const now = JSON.stringify(tree.children(path) ?? [])
      return now === (await listed(client, path)) || undefined
    })
  }
}

await t.test('the open levels of a tree equal listings after any changes', async (t) => {
  const client = connect(server.url, { key: server.token })
  const random = seededRandom(t)
  const names = ['a', 'b', 'B', 'é', '\ue000', '😀', 'x-10', 'x-9']
  const pathAt = (depth: number) => Array.from({ length: depth }, () => random.pick(names)).join('/')
  const tree = client.followTree('', { size: 100 })
  await tree.ready
  let levels = 0
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < 12; i++) {
      const path = pathAt(1 + random.below(3))
      if (random.below(10) < 5)
        await client.add(path, { type: random.below(2) === 0 ? 'json' : 'string' }).catch(() => {})
      else if (random.below(10) < 7) await client.remove(path)
      else await client.removeMatches(`*${path}//`)
    }
    if (round % 4 === 0) await tree.open(pathAt(1 + random.below(2)))
    if (round % 9 === 8) tree.collapse(pathAt(1))
    if (round % 8 !== 7) continue
    await isCurrent(client, tree)
    levels += tree.opened.length
  }
  t.ok(levels > 10, `${levels} levels`)
  tree.close()
})

await t.test('a path may have a slash at either end, and an invalid path is rejected immediately', async (t) => {
  const client = connect(server.url, { key: server.token })
  t.throws(() => client.followTree('a//b'), RangeError)
  await client.add('slashes/a')
  const tree = client.followTree('/slashes/')
  t.teardown(() => tree.close())
  await tree.ready
  await until('another child', async () => {
    await client.add('slashes/b')
    await client.remove('slashes/b')
    await client.add('slashes/b')
    return tree.children('slashes')?.length === 2 || undefined
  })
  await tree.open('slashes/a/')
  t.strictSame(tree.children('/slashes/a'), [])
})

await t.test('a level is listed in parts, and a child beyond the listed part is added on request', async (t) => {
  const client = connect(server.url, { key: server.token })
  await client.removeMatches('?.*//')
  const operations = Array.from({ length: 95 }, (_, i) => ({ op: 'add', path: `many/${100 + i}/x` }) as const)
  await client.batch([...operations, { op: 'add', path: 'many/110' }])
  const tree = client.followTree('many', { size: 10 })
  t.teardown(() => tree.close())
  await tree.ready
  const names = () => (tree.children('many') ?? []).map(({ name }) => name)
  t.strictSame([names().at(0), names().at(-1), names().length], ['100', '109', 10])
  // Levels are listed again when the stream starts.
  let isFollowed = false
  tree.addEventListener('topic', () => (isFollowed = true))
  await until('the stream', async () => (await client.addAndSet('many/100/x', 1)) && (isFollowed || undefined))
  await tree.open('many')
  await client.add('many/1005')
  await until('a child in between', async () => names().length === 11 || undefined)
  await client.add('many/150')
  await tree.include('many/150')
  await tree.include('many/999')
  t.strictSame(names().slice(-2), ['109', '150'], 'a child beyond the listed ones, but not a missing one')
  await tree.more('many')
  const child = tree.children('many')?.find(({ name }) => name === '110')
  t.strictSame(child, { path: 'many/110', name: '110', type: 'json', hasChildren: true })
  t.ok(names().length > 15 && names().length < 40, 'the next children')
  while (tree.listedTo('many') !== undefined) await tree.more('many')
  t.equal(names().length, 96)
  await client.removeMatches('?many/1[0-8].*//')
  await until('the removed children are gone', async () => names().length === 5 || undefined)
  await isCurrent(client, tree)
  tree.close()
})

await t.test('a tree survives an outage after which the missed changes are no longer available', async (t) => {
  const few = await startServer(t, { flags: ['--changes-kept', '1000'] })
  const proxy = await FaultProxy.start(t, few.url)
  const relayed = `http://127.0.0.1:${new URL(proxy.addressOf(few.url)).port}`
  const client = connect(relayed, { key: few.token })
  const direct = connect(few.url, { key: few.token })
  for (const path of ['a/1', 'b/1']) await direct.add(path)
  const tree = client.followTree()
  let outages = 0
  const connected = new Promise((resolve) => tree.addEventListener('connected', resolve, { once: true }))
  await tree.ready
  await tree.open('a')
  await connected
  tree.addEventListener('disconnected', () => outages++)
  proxy.set('refuse')
  await until('the outage', async () => outages === 1 || undefined)
  await direct.removeMatches('?a/1')
  await direct.add('a/2')
  for (let i = 0; i < 3; i++)
    await direct.batch(Array.from({ length: 1000 }, (_, n) => ({ op: 'add', path: `b/${i}/${n}` }) as const))
  proxy.set('pass')
  client.retry()
  await until('the tree is current', async () => tree.children('a')?.[0]?.name === '2' || undefined)
  await isCurrent(direct, tree)
  t.equal(outages, 1)
  tree.close()
})

await t.test('more children are also listed while the level is listed again', async (t) => {
  const client = connect(server.url, { key: server.token })
  await client.batch(Array.from({ length: 30 }, (_, i) => ({ op: 'add', path: `again/${10 + i}` }) as const))
  let lists = 0
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const source = {
    page: client.page.bind(client),
    changes: client.changes.bind(client),
    async *list(...args: Parameters<Client['list']>) {
      // When the stream begins, each open level is listed a second time.
      if (++lists === 2) await held
      yield* client.list(...args)
    },
  }
  const tree = new LiveTree(source, 'again', new AbortController(), 10)
  t.teardown(() => tree.close())
  await tree.ready
  await until('the second list', async () => lists === 2 || undefined)
  const more = tree.more('again')
  release()
  await more
  t.equal(tree.children('again')?.length, 20)
})
