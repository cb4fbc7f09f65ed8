/**
 * remove: one topic by its path, or all that a selector matches, answered with their number.
 */
import t from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { pathsOf } from '../support/service/client.js'
import { overStores } from '../support/service/over-stores.js'

const tree = ['a', 'a/b', 'a/b/c', 'a/d', 'a-b', 'ab', 'b/a']

await overStores(t, async (t, { post, client }) => {
  async function resetTree(): Promise<void> {
    await post('remove', { selector: '*.*' })
    for (const path of tree) await post('addAndSet', { path, value: 1 })
    await post('addAndSet', { path: 'a/s', type: 'string', value: 'x' })
  }
  const left = async () => pathsOf(await client.walk('?.*//'))

  await t.test('remove by path removes that topic and not its descendants', async (t) => {
    await resetTree()
    gives(t, await post('remove', { path: 'a/b' }), '{"removed":1}', 'one topic')
    t.strictSame(await left(), ['a', 'a/b/c', 'a/d', 'a-b', 'ab', 'b/a'], 'its descendants stay')
    gives(t, await post('remove', { path: '/a/b/c/' }), '{"removed":1}', 'outer slashes are dropped')
    gives(t, await post('remove', { path: 'a/s' }), '{"removed":1}', 'a string topic, without naming its type')
    refuses(t, await post('fetch', { path: 'a/s', type: 'string' }), 400, 'no_such_topic', 'it is gone')
  })

  await t.test('remove by selector removes all that it matches, of either type, and counts them', async (t) => {
    await resetTree()
    gives(t, await post('remove', { selector: '*a//' }), '{"removed":5}', 'a subtree')
    t.strictSame(await left(), ['a-b', 'ab', 'b/a'], 'its siblings stay')
    await resetTree()
    gives(t, await post('remove', { selector: '?a/' }), '{"removed":4}', 'the descendants alone')
    t.strictSame(await left(), ['a', 'a-b', 'ab', 'b/a'], 'the topic itself stays')
    await resetTree()
    gives(t, await post('remove', { selector: '#>a////>b/a////?a./' }), '{"removed":2}', 'a set of selectors')
    await resetTree()
    gives(t, await post('remove', { selector: '*a.b' }), '{"removed":2}', 'a pattern')
    t.strictSame(await left(), ['a', 'a/b/c', 'a/d', 'ab', 'b/a'], 'what it does not match stays')
  })

  await t.test('remove that matches nothing is a 200 and removes nothing', async (t) => {
    await resetTree()
    gives(t, await post('remove', { path: 'none' }), '{"removed":0}', 'a path')
    gives(t, await post('remove', { path: 'b' }), '{"removed":0}', 'a path with descendants only')
    gives(t, await post('remove', { selector: '*none//' }), '{"removed":0}', 'a selector')
    t.strictSame(await left(), ['a', 'a/b', 'a/b/c', 'a/d', 'a-b', 'ab', 'b/a'], 'everything stays')
    gives(t, await post('remove', { path: 'a' }), '{"removed":1}', 'the first time')
    gives(t, await post('remove', { path: 'a' }), '{"removed":0}', 'the second time')
  })

  await t.test('exactly one of path and selector is required, and nothing else is accepted', async (t) => {
    await resetTree()
    refuses(t, await post('remove', {}), 400, 'path_or_selector', 'neither', '"path"', '"selector"')
    refuses(
      t,
      await post('remove', { path: 'a', selector: '*a//' }),
      400,
      'path_or_selector',
      'both',
      '"path"',
      '"selector"',
    )
    refuses(t, await post('remove', { path: 'a', type: 'json' }), 400, 'unknown_parameter', 'a type', '"type"')
    refuses(t, await post('remove', { selector: '*a//', size: 1 }), 400, 'unknown_parameter', 'a size', '"size"')
    refuses(t, await post('remove', { selector: '%a' }), 400, 'invalid_selector', 'an invalid selector', '"selector"')
    refuses(t, await post('remove', { path: 'a//b' }), 400, 'invalid_path', 'an invalid path', '"path"')
    t.equal((await left()).length, tree.length, 'everything stays')
  })
})
