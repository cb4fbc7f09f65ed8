/** The page of the topics in headless Chromium: what is said where there is nothing, away, or too much to see. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import { addTopic, checkAccessibility, choose, drawn, isClean, openConsole } from '../support/browser/console.js'
import { startServer } from '../support/service/server.js'

t.setTimeout(360_000)

const skip = whyNoBrowser()

const goTo = (page: Page, hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`)

await t.test('what is absent, and what the key may not see, are not the same', { skip }, async (t) => {
  const server = await startServer(t)
  for (const path of ['plant/3/a', 'v/digits']) await addTopic(server, path, '1')
  const within = await server.addKey('within', { under: ['plant/3'] })
  const { page } = await openConsole(await startBrowser(t), server, within)
  await goTo(page, '#v%2Fdigits')
  await page.getByText('This API key may not fetch this path; it may fetch below plant/3.').waitFor()
  await page.getByRole('button', { name: 'Create…' }).click()
  t.equal(await page.getByLabel('Path').inputValue(), 'plant/3/', 'a path that the key may use')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await goTo(page, '#plant%2F3%2Fnone')
  await page.getByText('There is no topic at this path.').waitFor()
  await goTo(page, '#a%2F%2Fb')
  await page.getByText('This URL names no topic').waitFor()

  await page.getByRole('link', { name: /^3, no topic$/ }).click()
  await page.getByText('There is no topic at this path, but there are topics below it.').waitFor()
  t.pass('a branch can be chosen')
})

await t.test('a branch lists its children, by their numbers if someone likes', { skip }, async (t) => {
  const server = await startServer(t)
  for (let i = 1; i <= 12; i++) await addTopic(server, `plant/sensor-${i}/t`, '1')
  for (let i = 0; i < 120; i++) await addTopic(server, `many/n-${i}`, '1')
  const watched = await openConsole(await startBrowser(t), server)
  const { page } = watched
  const tree = page.getByRole('navigation')
  const children = page.locator('.children a')
  await tree.getByRole('link', { name: 'plant, no topic' }).click()
  await page.getByRole('heading', { name: 'Children (12)' }).waitFor()
  await tree.getByRole('link', { name: 'sensor-12, no topic' }).waitFor()
  t.strictSame((await children.allTextContents()).slice(0, 3), ['sensor-1/', 'sensor-10/', 'sensor-11/'], 'as stored')
  await page.getByLabel('Sort', { exact: true }).selectOption({ label: '2 before 10' })
  await drawn(page)
  t.strictSame((await children.allTextContents()).slice(0, 3), ['sensor-1/', 'sensor-2/', 'sensor-3/'])
  t.match(
    await tree.locator('.tree .tree a').allTextContents(),
    ['sensor-1', 'sensor-2', 'sensor-3'],
    'in the tree too',
  )
  await checkAccessibility(t, page, 'a branch')

  t.equal(await page.getByRole('link', { name: 'Changes' }).getAttribute('href'), '#=%3Fplant%2F%2F', 'of all below it')
  await tree.getByRole('button', { name: 'Below plant' }).click()
  await tree.getByRole('link', { name: 'sensor-12, no topic' }).waitFor({ state: 'detached' })
  await tree.getByRole('link', { name: 'plant, no topic' }).click()
  await tree.getByRole('link', { name: 'sensor-12, no topic' }).waitFor()
  t.pass('one that was closed is opened again, though it is shown already')
  await children.getByText('sensor-7/').click()
  await page.getByRole('heading', { name: 'Children (1)' }).waitFor()
  t.equal(await tree.locator('[aria-current="true"]').textContent(), 'sensor-7', 'its child is opened in the tree')
  await page.getByRole('link', { name: 'Everything below, with values' }).click()
  await page.getByText('Page 1, 1 topic, the last').waitFor()

  await page.reload()
  await tree.getByRole('link', { name: 'many, no topic' }).click()
  await tree.getByRole('button', { name: 'More… 100 listed; more may belong between them' }).waitFor()
  t.pass('only what is listed can be sorted, and the choice is kept')
  await page
    .locator('.shown')
    .getByRole('button', { name: /^More… 100 listed; more may/ })
    .click()
  await page.getByRole('heading', { name: 'Children (120)' }).waitFor()
  t.strictSame((await children.allTextContents()).slice(9, 12), ['n-9', 'n-10', 'n-11'])
  isClean(t, server, watched)
})

await t.test('a new topic is proposed in the branch that is shown or was opened last', { skip }, async (t) => {
  const server = await startServer(t)
  for (const path of ['plant/7/door', 'plant/8/door', 'top']) await addTopic(server, path, '1')
  const { page } = await openConsole(await startBrowser(t), server)
  const proposed = async (): Promise<string> => {
    await page.getByRole('button', { name: 'Create…' }).click()
    const path = await page.getByLabel('Path').inputValue()
    await page.getByRole('button', { name: 'Cancel' }).click()
    return path
  }
  t.equal(await proposed(), '', 'at the top at first')
  await page.getByRole('button', { name: 'Below plant' }).click()
  await page.getByRole('button', { name: 'Below 7' }).click()
  await page.getByRole('link', { name: 'door', exact: true }).waitFor()
  t.equal(await proposed(), 'plant/7/', 'the branch that was opened')
  await page.getByRole('link', { name: '8, no topic' }).click()
  await page.getByRole('heading', { name: 'Children (1)' }).waitFor()
  t.equal(await proposed(), 'plant/8/', 'the branch that is shown')
  await choose(page, 'plant/7/door')
  t.equal(await proposed(), 'plant/7/', 'the branch of the topic that is shown')
  await choose(page, 'top')
  t.equal(await proposed(), '')
  await choose(page, 'plant/7/new')
  t.equal(await proposed(), 'plant/7/new', 'a path that is shown, but has no topic')
})

await t.test('a restricted key starts at what it may see', { skip }, async (t) => {
  const server = await startServer(t)
  for (const path of ['a/b/c/1', 'a/b/c/2', 'a/x', 'z/y/1']) await addTopic(server, path, '1')
  const one = await server.addKey('one', { under: ['a/b/c'] })
  const two = await server.addKey('two', { under: ['a/b/c', 'z/y'] })
  const none = await server.addKey('none', { under: ['not/yet'] })
  const browser = await startBrowser(t)
  const { page } = await openConsole(browser, server, one)
  await page.getByRole('heading', { name: 'Children (2)' }).waitFor()
  t.equal(await page.locator('#topic-path').textContent(), 'a/b/c')
  t.strictSame(await page.locator('nav .tree a').allTextContents(), ['a', 'b', 'c', '1', '2'])
  await page.getByRole('link', { name: 'b, no topic' }).click()
  await page.getByText('This API key may not fetch this path; it may fetch below a/b/c.').waitFor()
  await page.goBack()
  await page.getByRole('heading', { name: 'Children (2)' }).waitFor()

  const several = await openConsole(browser, server, two)
  await several.page.getByRole('link', { name: '1', exact: true }).nth(1).waitFor()
  t.strictSame(await several.page.locator('nav .tree a').allTextContents(), ['a', 'b', 'c', '1', '2', 'z', 'y', '1'])
  const empty = await openConsole(browser, server, none)
  await empty.page.getByText('There are no topics below not/yet yet.').waitFor()
  t.equal(await empty.page.locator('#topic-path').textContent(), 'not/yet')
})

await t.test('a message about the service ends when the service is back', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'a/b', '1')
  const { page } = await openConsole(await startBrowser(t), server)
  await page.getByRole('button', { name: 'Below a' }).waitFor()
  await page.route('**/topics/fetch', (route) => route.abort())
  await page.getByRole('button', { name: 'Below a' }).click()
  await page.getByRole('navigation').getByText('The service cannot be reached.').waitFor()
  await page.unroute('**/topics/fetch')
  await page.getByRole('link', { name: 'b', exact: true }).waitFor()
  await page.getByRole('navigation').getByText('The service cannot be reached.').waitFor({ state: 'detached' })
  t.pass('by itself')
})

await t.test('a page of results is the one that its number says', { skip }, async (t) => {
  const server = await startServer(t)
  for (let i = 0; i < 30; i++) await addTopic(server, `s/${String(i).padStart(2, '0')}`, String(i))
  const { page } = await openConsole(await startBrowser(t), server)
  await goTo(page, '#?%3Fs%2F.*')
  await page.getByText('Page 1, 20 topics').waitFor()
  await page.reload()
  await page.getByText('Page 1, 20 topics').waitFor()
  t.equal(await page.getByLabel('Selector').inputValue(), '?s/.*', 'the box shows the selector of the address')

  await page.route('**/topics/fetch', (route) => route.abort())
  await page.getByRole('button', { name: 'Next page' }).click()
  await page.getByRole('alert').first().waitFor()
  await page.unroute('**/topics/fetch')
  await page.getByText('Page 1, 20 topics').waitFor()
  t.equal(await page.locator('.matches a').first().textContent(), 's/00', 'a page that did not come is not shown')

  await page.getByRole('button', { name: 'Next page' }).click()
  await page.getByText('Page 2, 10 topics, the last').waitFor()
  t.match(await page.evaluate('document.activeElement.textContent'), /Next page/, 'the focus stays')
  t.equal(await page.title(), `?s/.* – topicd ${new URL(server.url).host}`)
  await page.getByRole('link', { name: 's/25' }).click()
  await page.locator('#topic-path', { hasText: 's/25' }).waitFor()
  await page.goBack()
  await page.getByText('Page 2, 10 topics, the last').waitFor()
  t.pass('"back" leads to the page of results')
  for (let i = 20; i < 30; i++) await server.post('remove', { path: `s/${i}` })
  await page.getByText('Nothing is left on this page.').waitFor()
  await goTo(page, '#?none')
  await page.getByText('Nothing matches.').waitFor()
  t.equal(await page.getByRole('button', { name: 'Remove all matches…' }).count(), 0, 'there is nothing to remove')
})

await t.test('long trees, names and properties stay within the page', { skip }, async (t) => {
  const server = await startServer(t)
  for (let i = 0; i < 90; i++) await addTopic(server, `row${String(i).padStart(2, '0')}`, '1')
  const long = 'x'.repeat(300)
  await addTopic(server, `wide/${'y'.repeat(1500)}`, '1', `,"properties":{"${long}":"${long}"}`)
  const { page } = await openConsole(await startBrowser(t), server)
  await page.getByRole('link', { name: 'row80' }).scrollIntoViewIfNeeded()
  const scrolled = () => page.evaluate<number>("scrollY + document.querySelector('nav').scrollTop")
  const before = await scrolled()
  t.ok(before > 500, 'the tree is longer than the window')
  await page.getByRole('link', { name: 'row80' }).click()
  await page.locator('#topic-path', { hasText: 'row80' }).waitFor()
  await page.waitForTimeout(300)
  t.equal(await scrolled(), before, 'nothing jumps')
  t.ok(await page.locator('#topic-path').isVisible())

  await choose(page, `wide/${'y'.repeat(1500)}`)
  for (const width of [1200, 400]) {
    await page.setViewportSize({ width, height: 800 })
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), width, `${width} px`)
  }
})

await t.test('the tree shows the way to a topic that it has not listed', { skip }, async (t) => {
  const server = await startServer(t)
  for (let i = 0; i < 250; i++) await addTopic(server, `many/${1000 + i}${i === 222 ? '/deep/x' : ''}`, '1')
  const watched = await openConsole(await startBrowser(t), server)
  const { page } = watched
  await goTo(page, '#many%2F1222%2Fdeep%2Fx')
  const shown = page.locator('nav [aria-current="true"]')
  await shown.waitFor()
  t.equal(await shown.textContent(), 'x')
  await page.getByRole('button', { name: /^More… 100 listed/ }).waitFor()
  t.match(await page.getByRole('link', { name: '1222, no topic' }).getAttribute('href'), '#many%2F1222')
  await page.waitForFunction(`(() => {
    const [row, nav] = ['nav [aria-current=true]', 'nav'].map((of) => document.querySelector(of).getBoundingClientRect())
    return row.top >= nav.top && row.bottom <= nav.bottom
  })()`)
  t.equal(await page.evaluate('scrollY'), 0, 'only the tree scrolls')
  await checkAccessibility(t, page, 'a topic apart')
  for (const listed of [200, 249]) {
    await page.getByRole('button', { name: /^More…/ }).click()
    if (listed === 200) await page.getByRole('button', { name: /^More… 200 listed/ }).waitFor()
  }
  await page.getByText('(250)').waitFor()
  t.equal(await page.getByRole('link', { name: '1222, no topic' }).count(), 1, 'listed, it is there once')
  t.equal(await shown.textContent(), 'x', 'and open')

  await page.reload()
  await shown.waitFor()
  await server.post('remove', { selector: '?many/1222//' })
  await page.getByRole('link', { name: '1222, no topic' }).waitFor({ state: 'detached' })
  t.pass('what is removed goes')
  isClean(t, server, watched)
})

await t.test('the character that a selector is refused for is marked, however wide it is', { skip }, async (t) => {
  const server = await startServer(t)
  const { page } = await openConsole(await startBrowser(t), server)
  for (const [selector, text, marked] of [
    ['?日本/\u202e(', '?日本/⟨U+202E⟩(', '('],
    ['?a/[', '?a/[', '['],
  ] as const) {
    await goTo(page, `#${encodeURIComponent(selector).replace('%3F', '?%3F')}`)
    const alert = page.getByRole('alert')
    await alert.locator('.exact', { hasText: text }).waitFor()
    t.equal(await alert.locator('.exact').textContent(), text)
    t.equal(await alert.locator('mark').textContent(), marked)
  }
})

await t.test('a save that takes a while takes the focus from nobody', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'f', '1')
  const { page } = await openConsole(await startBrowser(t), server)
  await choose(page, 'f')
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('New value').fill('2')
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route('**/topics/set', async (route) => {
    await held
    await route.continue()
  })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByLabel('Selector').pressSequentially('?pl')
  release()
  await page.getByText('Saved.').waitFor()
  await page.keyboard.type('ant')
  t.equal(await page.getByLabel('Selector').inputValue(), '?plant')
})

await t.test('an edit that is left is listed, and becomes a new topic if its own is removed', { skip }, async (t) => {
  const server = await startServer(t)
  const more = ',"type":"string","properties":{"REMOVAL":"when no updates for 1h","lines":"a = 1\\n b"}'
  for (const path of ['left/1', 'left/2']) await addTopic(server, path, '"1"', more)
  const { page } = await openConsole(await startBrowser(t), server)
  await choose(page, 'left/1')
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('New value').fill('"seven"')
  await choose(page, 'left/2')
  await page.getByText('Not saved: left/1').getByRole('link').click()
  t.equal(await page.getByLabel('New value').inputValue(), '"seven"')
  await server.post('remove', { path: 'left/1' })
  await page.getByRole('button', { name: 'Recreate it with my text' }).click()
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('Created left/1.').waitFor()
  const { text } = await server.post('fetch', { path: 'left/1', type: 'string', with_properties: true })
  t.strictSame(
    JSON.parse(text),
    JSON.parse(`{"path":"left/1","type":"string","value":"seven"${more.replace('"type":"string",', '')}}`),
    'with the type and the properties of its own',
  )
})
