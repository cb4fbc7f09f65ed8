/**
 * Paging: a walk returns exactly the subtree, in tree order, each topic once, with pages of any size.
 */
import t from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { treeOrder } from '../support/models/model.js'
import { type FetchedPage, pathsOf } from '../support/service/client.js'
import { overStores } from '../support/service/over-stores.js'

/** The subtree of `t` in tree order: descendants of `t/a` before `t/a!` and `t/a-b`, though `!` and `-` precede `/`. */
const subtree = [
  ...['t', 't/A', 't/a', 't/a/a', 't/a/b', 't/a/b/c', 't/a/é', 't/a!', 't/a-b', 't/a-b/c', 't/aa', 't/b', 't/é'],
  ...['t/é/a'],
]

/** Topics outside the subtree: just before it, just after it, and some whose paths start with `t`. */
const others = ['s', 's/t', 'sz', 't!', 't-a', 'ta', 'u', 'é']

await overStores(t, async (t, { post, client }) => {
  t.strictSame([...subtree].sort(treeOrder), subtree, 'the list itself is in tree order')
  // Added in another order, so that the results cannot depend on it.
  for (const path of [...subtree, ...others].sort().reverse()) await post('addAndSet', { path, value: path })
  // Topics of the other type in between must be neither returned nor counted.
  for (const path of ['t/a/aa', 't/a!/s', 't/zz']) await post('addAndSet', { path, type: 'string', value: path })

  for (const size of [1, 2, 3, 7, 10, 13, 14, 15, 1000]) {
    await t.test(`pages of ${size} contain the subtree in tree order, each topic once`, async (t) => {
      const pages = await client.walk('*t//', { size })
      t.strictSame(pathsOf(pages), subtree, 'exactly the subtree, in order')
      t.equal(pages.length, Math.ceil(subtree.length / size), 'as few pages as possible: has_more ends the walk')
      for (const page of pages.slice(0, -1)) t.equal(page.results.length, size, 'every page but the last is full')
      t.ok(
        pages.every((page) => page.results.every((item) => item.value === item.path)),
        'each topic has its own value',
      )
    })
  }

  /** The paths of the first page after `after`, and whether more pages follow. */
  async function next(after: string, size = 1000): Promise<[string[], boolean]> {
    const answer = await post('fetch', { selector: '*t//', size, after })
    const page = JSON.parse(answer.text) as FetchedPage
    return [pathsOf([page]), page.has_more]
  }

  await t.test('a page after any topic contains exactly the topics that follow it', async (t) => {
    for (const [i, path] of subtree.entries()) {
      t.strictSame(await next(path), [subtree.slice(i + 1), false], `after ${path}`)
      t.strictSame(await next(path, 1), [subtree.slice(i + 1, i + 2), i + 2 < subtree.length], `one after ${path}`)
    }
  })

  await t.test('`after` may be outside the selected range and need not be the path of a topic', async (t) => {
    for (const before of ['a', 's', 's/t', 'sz', 's/none', '!', 'T']) {
      t.strictSame(await next(before), [subtree, false], `before: ${before}`)
    }
    for (const beyond of ['t!', 't-a', 'ta', 'u', 'é', 't/é/a/b', 't/é/b', 't/\u{10ffff}', '\u{10ffff}']) {
      t.strictSame(await next(beyond), [[], false], `beyond: ${beyond}`)
    }
    t.strictSame(await next('t/a/b/none'), [subtree.slice(6), false], 'inside: after a path without a topic')
    t.strictSame(await next('t/a/c'), [subtree.slice(6), false], 'inside: between two topics')
    t.strictSame(await next('t/a/zz/zz'), [subtree.slice(6), false], 'inside: a descendant of nothing')
    t.strictSame(await next('t/!'), [subtree.slice(1), false], 'inside: before the first child')
    t.strictSame(await next('/t/a/'), [subtree.slice(3), false], 'outer slashes are dropped')
    t.strictSame(await next('t/a/aa'), [subtree.slice(4), false], 'inside: a topic of the other type')
  })

  await t.test('`after` excludes only the topic that it names', async (t) => {
    t.strictSame(await next('t/a'), [subtree.slice(3), false], 'not the topic itself, but its descendants')
    t.strictSame(await next('t/a\u0001'), [subtree.slice(7), false], 'the smallest possible next sibling')
  })

  await t.test('an `after` that is not a path is rejected', async (t) => {
    for (const after of ['', '/', 'a//b', 'a\0']) {
      refuses(
        t,
        await post('fetch', { selector: '*t//', after }),
        400,
        'invalid_path',
        JSON.stringify(after),
        '"after"',
      )
    }
    refuses(t, await post('fetch', { selector: '*t//', after: 5 }), 400, 'invalid_parameter', 'a number', '"after"')
  })

  await t.test('topics that remain are returned once, even if others are added or removed between pages', async (t) => {
    const seen: string[] = []
    for (let after: string | undefined, more = true, turn = 0; more; turn++) {
      const page = JSON.parse((await post('fetch', { selector: '*t//', size: 2, after })).text) as FetchedPage
      seen.push(...pathsOf([page]))
      more = page.has_more
      after = page.results.at(-1)?.path
      // Each turn adds one topic just ahead of the walk, and another that is removed before the next page; every other
      // turn adds one behind the walk, which the next turn removes.
      await post('add', { path: `${after}/!new` })
      await post('add', { path: `${after}/!gone` })
      await post('remove', { path: `${after}/!gone` })
      await post(turn % 2 === 0 ? 'add' : 'remove', { path: 't/!new' })
    }
    t.strictSame(
      seen.filter((path) => !path.endsWith('new')),
      subtree,
      'the topics that stayed, in order, each once',
    )
    t.strictSame([...seen].sort(treeOrder), seen, 'the added topics are also in order')
    await post('remove', { selector: '*t/.*!new' })
  })

  await t.test('a walk continues after the topic named by `after` has been removed', async (t) => {
    await post('remove', { path: 't/a/b' })
    t.strictSame(await next('t/a/b'), [subtree.slice(5), false], 'the topics after the removed one')
    gives(t, await post('addAndSet', { path: 't/a/b', value: 't/a/b' }), '{"path":"t/a/b","created":true}', 'put back')
  })
})
