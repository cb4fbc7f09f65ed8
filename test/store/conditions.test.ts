/**
 * What lmdb's conditional writes do, in every arrangement that the store's code uses, and in those that it avoids
 * because the library executes writes whose condition did not hold, or half of a block (src/store/lmdb/environment.ts
 * names them).
 */
import t, { type Test } from 'tap'
import { type Environment, openEnvironment, type Tree } from '../../dist/store/lmdb/environment.js'
import { Versions } from '../../dist/store/lmdb/versions.js'
import type { Path } from '../../dist/topics/path.js'

const present = 'present' as Path
const absent = 'absent' as Path
const version = 7
const other = 8
const versionsInBlock = 8

/** An environment in which `present` is in every tree, with `version`. */
async function open(t: Test): Promise<Environment> {
  const environment = openEnvironment(t.testdir())
  const { specifications, items, updates, root } = environment
  for (const tree of [specifications, items.json, updates]) await tree.put(present, Buffer.from('old'), version)
  t.teardown(() => root.close())
  return environment
}

/** What a tree has at a path. */
function textAt(tree: Tree, path: Path): string | undefined {
  return tree.get(path)?.toString()
}

const value = Buffer.from('new')

await t.test('a put with a version replaces a record of that version, and nothing else', async (t) => {
  const { items } = await open(t)
  const { json } = items
  t.equal(await json.put(present, value, other, other), false, 'another version')
  t.equal(await json.put(absent, value, version, version), false, 'no record')
  t.equal(textAt(json, present), 'old')
  t.equal(textAt(json, absent), undefined)
  t.equal(await json.put(present, value, other, version), true)
  t.match(json.getEntry(present), { version: other })
  t.equal(textAt(json, present), 'new')
})

await t.test(
  'many puts of one commit are each decided by their own condition, in the order of the calls',
  async (t) => {
    const { items } = await open(t)
    const { json } = items
    const held = await Promise.all([
      json.put(present, Buffer.from('1'), other, version),
      json.put(present, Buffer.from('2'), other, version),
      json.put(present, Buffer.from('3'), version, other),
    ])
    t.same(held, [true, false, true])
    t.equal(textAt(json, present), '3')
  },
)

await t.test('ifNoExists outermost: its writes to several trees are executed together or not at all', async (t) => {
  const { specifications, items } = await open(t)
  const create = (path: Path): Promise<boolean> =>
    specifications.ifNoExists(path, () => {
      void specifications.put(path, value, version)
      void items.json.put(path, value, version)
    })
  t.equal(await create(present), false)
  t.equal(textAt(specifications, present), 'old')
  t.equal(textAt(items.json, present), 'old')
  t.equal(await create(absent), true)
  t.equal(textAt(specifications, absent), 'new')
  t.equal(textAt(items.json, absent), 'new')
})

await t.test('ifVersion: puts and removals in several trees are executed together or not at all', async (t) => {
  const { specifications, items, updates } = await open(t)
  const change = (ifVersion: number): Promise<boolean> =>
    specifications.ifVersion(present, ifVersion, () => {
      void specifications.remove(present)
      void items.json.put(present, value, version)
      void updates.remove(present)
    })
  t.equal(await change(other), false)
  t.same(
    [specifications, items.json, updates].map((tree) => textAt(tree, present)),
    ['old', 'old', 'old'],
  )
  t.equal(await change(version), true)
  t.same(
    [specifications, items.json, updates].map((tree) => textAt(tree, present)),
    [undefined, 'new', undefined],
  )
})

await t.test('ifVersion within ifVersion, all writes innermost: both conditions must hold', async (t) => {
  const { specifications, items, updates } = await open(t)
  const change = async (outerVersion: number, innerVersion: number): Promise<readonly [boolean, boolean]> => {
    let inner = Promise.resolve(false)
    const outer = updates.ifVersion(present, outerVersion, () => {
      inner = specifications.ifVersion(present, innerVersion, () => {
        void specifications.remove(present)
        void items.json.put(present, value, version)
      })
    })
    return [await outer, await inner]
  }
  t.same(await change(other, other), [false, false])
  t.same(await change(version, other), [true, false], "the outer promise says nothing of the inner block's condition")
  t.same(await change(other, version), [false, false])
  t.equal(textAt(specifications, present), 'old')
  t.equal(textAt(items.json, present), 'old')
  t.same(await change(version, version), [true, true])
  t.equal(textAt(specifications, present), undefined)
  t.equal(textAt(items.json, present), 'new')
})

await t.test('what a block that failed executes nevertheless, and the store therefore never writes', async (t) => {
  const { specifications, items, updates } = await open(t)
  const [nested, after, put] = ['nested', 'after', 'put'] as Path[] as [Path, Path, Path]
  await updates.ifVersion(present, other, () => {
    void specifications.ifNoExists(absent, () => {
      void specifications.put(nested, value, version)
    })
    void items.json.put(after, value, version)
  })
  t.equal(textAt(specifications, nested), undefined, "the nested block's own writes are not executed")
  t.equal(textAt(items.json, after), 'new', 'those that follow it are')
  await updates.ifVersion(present, other, () => {
    void specifications.put(put, value, { version, noOverwrite: true } as unknown as number)
  })
  t.equal(textAt(specifications, put), 'new', 'and so is a put that must not overwrite')
})

/**
 * Executes two puts in a block whose condition holds, with `between` in between; returns whether the first was
 * committed without the second.
 */
async function isHalved(environment: Environment, between: () => void): Promise<boolean> {
  const { specifications, items, freshen } = environment
  // So many writes in one turn that lmdb's thread starts with them at once, and waits for more within the block.
  for (let i = 0; i < 1500; i++) void items.string.put(`filler/${i}` as Path, value, version)
  await new Promise((resolve) => setImmediate(resolve))
  for (let i = 0; i < 1500; i++) void items.string.put(`filler/${i}` as Path, value, version)
  let halved = false
  const done = specifications.ifVersion(present, version, () => {
    void specifications.put(present, value, other)
    between()
    freshen()
    halved = textAt(specifications, present) === 'new'
    void items.json.put(present, value, other)
  })
  t.equal(await done, true)
  t.equal(textAt(items.json, present), 'new')
  return halved
}

await t.test('a transactionSync within a block commits the half of it that precedes', async (t) => {
  // Only if lmdb's thread is already within the block, which a busy machine may prevent, though not every time.
  const trialsMax = 100
  let halved = false
  for (let trial = 0; trial < trialsMax && !halved; trial++) {
    await t.test(`trial ${trial}`, async (t) => {
      const environment = await open(t)
      halved = await isHalved(environment, () => environment.meta.transactionSync(() => {}))
    })
  }
  t.ok(halved, 'at least once')
})

await t.test('using up a block of version numbers within a block commits nothing', async (t) => {
  const environment = await open(t)
  const versions = new Versions(environment.meta, versionsInBlock)
  versions.whenLow(() => void versions.takeReserve())
  for (let i = 0; i < versionsInBlock - 1; i++) versions.next()
  await new Promise((resolve) => setTimeout(resolve, 100))
  const taken: number[] = []
  t.equal(await isHalved(environment, () => taken.push(versions.next(), versions.next())), false)
  t.equal(new Set(taken).size, 2, 'the last number of one block and the first of the next')
})
