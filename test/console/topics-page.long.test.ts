/** The Topics page in headless Chromium, used as a person would: visits, edits, removals, changes, outages. */
import t from 'tap'
import { visible } from '../../dist/console/topics/value-text.js'
import {
  addTopic as add,
  checkAccessibility,
  choose,
  clickTwice,
  drawn,
  goTo,
  isClean,
  openConsole,
  openWatched,
  shownValue,
  signIn,
  startConsole,
  toggle,
  treeItem,
} from '../support/browser/console.js'
import { Relay } from '../support/service/relay.js'
import { until } from '../support/service/server.js'

const { skip, server, browser } = await startConsole(t)

await t.test('a first visit makes at most eight requests on four connections', { skip }, async (t) => {
  let requests = 0
  const relay = await Relay.open(t, server.port, (bytes, to, ends) => {
    if (to === 'service') requests += bytes.toString('latin1').split(' HTTP/1.1\r\n').length - 1
    ends[to].write(bytes)
  })
  const { page } = await openWatched(browser, `${relay.url}/console`)
  await page.getByLabel('API key').waitFor()
  t.ok(requests > 2 && requests <= 8, `${requests} requests`)
  await signIn(page, server.token)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  t.ok(relay.connections <= 4, `${relay.connections} connections`)
})

await t.test('a first visit leads from entering a key to a topic whose value has every digit', { skip }, async (t) => {
  const text = '{"t":21.50,"big":12345678901234567890,"e":1e999,"u":"\\u0041","a":1,"a":[],"z":-0}'
  await add(server, 'rooms/1/celsius', text, ',"properties":{"REMOVAL":"when no updates for 10m"}')
  const watched = await openWatched(browser, `${server.url}/console`)
  const { page } = watched
  t.equal(await page.title(), `Topics – topicd ${new URL(server.url).host}`)
  t.equal(await page.evaluate('document.activeElement.id'), 'key', 'the key can be typed immediately')
  await checkAccessibility(t, page, 'the first visit')

  await page.getByLabel('API key').fill('wrong')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  t.match(await page.getByRole('alert').textContent(), /^The service does not know this API key/, 'a wrong key')
  await page.getByLabel('API key').fill('schlüssel')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').filter({ hasText: 'This is not an API key' }).waitFor()

  await signIn(page, server.token)
  await toggle(page, 'rooms')
  await toggle(page, '1')
  await treeItem(page, 'celsius').click()
  await page.getByRole('button', { name: 'As stored' }).click()
  t.equal(await shownValue(page), text, 'as stored')
  await page.getByRole('button', { name: 'Formatted' }).click()
  const formatted = (await shownValue(page)) ?? ''
  t.match(formatted, '  "big": 12345678901234567890,\n')
  t.equal(formatted.replace(/\s/g, ''), text, 'formatted: only space is added')
  t.match(await page.locator('.properties').textContent(), /REMOVAL\s*when no updates for 10m/)
  await checkAccessibility(t, page, 'a topic')

  await add(server, 'rooms/1/celsius', '1.10')
  await page.locator('pre.value', { hasText: '1.10' }).waitFor()
  t.pass('another value appears automatically')
  await page.reload()
  await page.locator('pre.value', { hasText: '1.10' }).waitFor()
  t.pass('the key and the topic survive a reload')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.reload()
  t.ok(await page.getByLabel('API key').isVisible(), 'signed out')
  t.strictSame(await page.evaluate('[document.cookie, sessionStorage.length, localStorage.length]'), ['', 0, 0])
  isClean(t, server, watched)
})

await t.test('10,000 topics are shown in pages, with buttons above and below', { skip }, async (t) => {
  const operations = Array.from({ length: 10_000 }, (_, i) => ({
    op: 'addAndSet',
    path: `plant/${Math.floor(i / 1000)}/${i % 1000}`,
    value: i,
  }))
  for (let i = 0; i < operations.length; i += 1000) {
    t.equal((await server.post('batch', { operations: operations.slice(i, i + 1000) })).status, 200)
  }
  const watched = await openConsole(browser, server)
  const { page } = watched
  await toggle(page, 'plant')
  await page.locator('.tree .count', { hasText: '10' }).waitFor()
  await toggle(page, '7')
  await page.getByRole('treeitem', { name: /^More… 400 listed/ }).click()
  await page.getByRole('treeitem', { name: /^More… 800 listed/ }).click()
  await page.locator('.tree .count', { hasText: '1000' }).waitFor()
  const level = page.locator('.tree ul ul > li')
  t.strictSame(
    (await level.allTextContents()).slice(9, 12).map((text) => text.trim()),
    ['9', '10', '11'],
    '2 before 10',
  )

  await page.getByLabel('Search: words or a selector').fill('?plant/[0-9]/49.')
  await page.keyboard.press('Enter')
  const seen: string[] = []
  for (let number = 0; number < 5; number++) {
    await page
      .getByRole('status')
      .filter({ hasText: `${20 * number + 1}–${20 * number + 20} of 100` })
      .waitFor()
    seen.push(...(await page.locator('.topics a').allTextContents()))
    await page.getByRole('button', { name: 'Next page' }).last().scrollIntoViewIfNeeded()
    if (number < 4) await page.getByRole('button', { name: 'Next page' }).last().click()
  }
  t.equal(new Set(seen).size, 100, 'every match once')
  const next = page.getByRole('button', { name: 'Next page' }).first()
  t.equal(await next.getAttribute('aria-disabled'), 'true', 'the last page')
  await page.getByRole('button', { name: 'Previous page' }).first().click()
  await page.getByRole('status').filter({ hasText: '61–80 of 100' }).waitFor()
  const title = await page.locator('#search-title').boundingBox()
  t.ok(title !== null && title.y >= 0, 'a new page is shown from its top')
  await goTo(page, `#?${encodeURIComponent('?日本/\u202e(')}`)
  await page.getByRole('alert').waitFor()
  t.match(await page.getByRole('alert').textContent(), /syntax error at character 6/)
  t.equal(await page.locator('mark').textContent(), '(', 'the character is marked')
  t.equal(await page.getByRole('alert').locator('.exact').textContent(), '?日本/⟨U+202E⟩(')
  await checkAccessibility(t, page, 'a rejected selector')
  isClean(t, server, watched)
})

await t.test("an edit never silently overwrites another client's value", { skip }, async (t) => {
  await add(server, 'shared', '"mine was based on this"')
  const watched = await openConsole(browser, server)
  const { page } = watched
  const stored = async () => (await server.post('fetch', { path: 'shared' })).text
  await choose(page, 'shared')
  await page.getByRole('button', { name: 'Edit' }).click()
  const field = page.getByLabel('New value as JSON')
  await field.fill('"mine')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').filter({ hasText: 'not JSON' }).waitFor()
  await field.fill('"mine"')
  // A write by another client that has not reached this page yet.
  let write = async () => {}
  await page.route('**/topics/set', async (route) => {
    await write()
    await route.continue()
  })
  write = () => add(server, 'shared', '"theirs"')
  await page.keyboard.press('Control+s')
  await page.getByRole('alert').filter({ hasText: 'Not saved. The topic was changed' }).waitFor()
  t.match(await stored(), '"theirs"', 'theirs is still there')
  await page.locator('pre.value', { hasText: '"theirs"' }).waitFor()
  t.equal(await field.inputValue(), '"mine"', 'mine is kept')
  t.ok(await page.getByRole('button', { name: 'Save' }).isDisabled())
  await checkAccessibility(t, page, 'a conflict')
  write = () => add(server, 'shared', '"theirs, again"')
  await page.getByRole('button', { name: 'Overwrite with my value' }).click()
  await page.getByRole('status').filter({ hasText: 'Saved.' }).waitFor()
  t.match(await stored(), '"mine"')
  await page.unroute('**/topics/set')

  await page.getByRole('button', { name: 'Edit' }).click()
  await field.fill('"unsaved"')
  await choose(page, 'other')
  await choose(page, 'shared')
  t.equal(await field.inputValue(), '"unsaved"', 'an edit survives a look at another topic')
  await server.post('remove', { path: 'shared' })
  await page.getByRole('alert').filter({ hasText: 'was removed while you were editing' }).waitFor()
  t.equal(await field.inputValue(), '"unsaved"', 'and the removal of its topic')
  page.once('dialog', (asked) => void asked.accept())
  await page.getByRole('button', { name: 'Cancel' }).click()
  await add(server, 'shared', '"mine"')

  await page.getByRole('button', { name: 'Create…' }).click()
  await page.getByLabel('Path').fill('shared')
  await page.getByLabel('Value as JSON').fill('2')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('alert').filter({ hasText: 'A topic already exists at this path' }).waitFor()
  await checkAccessibility(t, page, 'the dialog that creates')
  await page.getByLabel('Path').fill('new/é')
  await page.getByRole('button', { name: 'Add a property' }).click()
  await page.getByLabel('Name of property 1').fill('DONT_RETAIN_VALUE')
  await page.getByLabel('Value of property 1').fill('false')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.locator('#topic-path', { hasText: 'new/é' }).waitFor()
  t.match(await stored(), '"mine"', 'creating has changed nothing')
  t.match(await server.post('fetch', { path: 'new/é', with_properties: true }), {
    text: '{"path":"new/é","type":"json","value":2,"properties":{"DONT_RETAIN_VALUE":"false"}}',
  })
  isClean(t, server, watched)
})

await t.test('a removal shows the number of topics before it runs', { skip }, async (t) => {
  for (const path of ['a', 'a/b', 'a/b/c', 'a.b', 'd']) await add(server, path, '1')
  const watched = await openConsole(browser, server)
  const { page } = watched
  await choose(page, 'a')
  await page.getByRole('button', { name: 'Remove…' }).click()
  await page.getByRole('button', { name: 'Remove 1 topic' }).waitFor()
  await page.getByLabel('the topic and everything below it').check()
  await page.getByRole('button', { name: 'Remove 3 topics' }).waitFor()
  await checkAccessibility(t, page, 'the dialog that removes')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Remove…' }).click()
  await page.getByLabel('the topic and everything below it').check()
  await page.getByRole('button', { name: 'Remove 3 topics' }).waitFor()
  await add(server, 'a/new', '1')
  await page.getByRole('button', { name: 'Remove 3 topics' }).click()
  await page.getByRole('alert').filter({ hasText: 'The count is now 4 topics, not 3. Nothing was removed.' }).waitFor()
  await server.post('remove', { path: 'a/new' })
  await page.getByRole('button', { name: 'Remove 4 topics' }).click()
  await page.getByRole('alert').filter({ hasText: 'The count is now 3 topics, not 4.' }).waitFor()
  await page.getByRole('button', { name: 'Remove 3 topics' }).click()
  await page.getByText('3 topics removed.').waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.locator('.shown', { hasText: 'There is no topic at this path' }).waitFor()
  t.match(await server.post('fetch', { selector: '?.*//', with_values: false }), {
    text: '{"has_more":false,"results":[{"path":"a.b","type":"json"},{"path":"d","type":"json"}]}',
  })
  await until('the tree follows', async () => (await page.locator('.tree > li').count()) === 2 || undefined)
  isClean(t, server, watched)
})

await t.test('a restricted key is offered only permitted actions', { skip }, async (t) => {
  for (const path of ['own/x', 'other/y']) await add(server, path, '1')
  const reader = await server.addKey('reader', { allow: ['fetch'], under: ['own'] })
  const writer = await server.addKey('writer', { allow: ['set', 'add'] })
  const watched = await openConsole(browser, server, reader)
  await watched.page.locator('#topic-path', { hasText: 'own' }).waitFor()
  await watched.page.locator('.children').getByRole('link', { name: 'x', exact: true }).click()
  t.equal(await shownValue(watched.page), '1')
  t.match(await watched.page.locator('header').textContent(), 'Key reader: fetch below own')
  const linksOf = async ({ page }: typeof watched) =>
    page.locator('header a').evaluateAll((links) => links.map((link) => link.getAttribute('href')))
  t.strictSame(await linksOf(watched), ['openapi.json'])
  for (const name of ['Edit', 'Create…', 'Remove…'])
    t.equal(await watched.page.getByRole('button', { name }).count(), 0)
  t.equal(await treeItem(watched.page, 'other').count(), 0, 'other subtrees are not shown')
  isClean(t, server, watched)

  const blind = await openWatched(browser, `${server.url}/console`)
  let asked = ''
  blind.page.on('request', (request) => (asked += `${request.url()}\n`))
  await signIn(blind.page, writer)
  await blind.page.getByText('This API key has no fetch permission').waitFor()
  t.equal(await blind.page.getByLabel('Search').count(), 0)
  t.equal(await blind.page.getByRole('button', { name: 'Create…' }).count(), 1)
  t.strictSame(await linksOf(blind), [`${server.adminUrl}/`, 'openapi.json'], 'the Service page is linked')
  t.notMatch(asked, /\/topics\//, 'no request is sent that would be rejected')
  isClean(t, server, blind)
  const { page } = await openConsole(browser, server, await server.addKey('setter', { allow: ['set'] }))
  await page.getByText('This API key has no fetch permission').waitFor()
  t.equal(await page.locator('.panel').count(), 0, 'no panel for the tree if there is no tree')

  t.match(await server.command('keys', 'revoke', 'reader'), { code: 0 })
  await watched.page.getByLabel('API key').waitFor()
  t.match(
    await watched.page.getByRole('alert').textContent(),
    /^The service does not know this API key/,
    'revoked during the visit',
  )
})

await t.test('stored text never becomes markup', { skip }, async (t) => {
  const hostile = [
    '<img src=x onerror="document.title=1">',
    '<script>document.title=1</script>',
    '"><svg onload=document.title=1>',
    ['$', '{document.title=1}'].join(''),
    '{{document.title=1}}',
    '<!--?lit$-->',
    'javascript:document.title=1',
    '\u202Ereversed\u202C',
    '\u0001\u007f',
  ]
  for (const [i, text] of hostile.entries()) {
    const json = JSON.stringify(text)
    await add(server, `h${i}-${text.replaceAll('/', '')}/x`, `{${json}:${json}}`, `,"properties":{${json}:${json}}`)
    await add(server, `s${i}`, json, ',"type":"string"')
  }
  const watched = await openConsole(browser, server)
  const { page } = watched
  for (const [i, text] of hostile.entries()) {
    const path = `h${i}-${text.replaceAll('/', '')}/x`
    await choose(page, path)
    await page.locator('pre.value').waitFor()
    await page.getByRole('button', { name: 'As stored' }).click()
    const json = JSON.stringify(text)
    t.equal(await shownValue(page), `{${json}:${json}}`, json)
    t.equal(await page.locator('.properties dd').textContent(), visible(text))
    t.equal(await page.locator('#topic-path').textContent(), visible(path))
  }
  await page.getByLabel('Search: words or a selector').fill('?.*//')
  await page.keyboard.press('Enter')
  await page.getByRole('status').filter({ hasText: '1–18 of 18' }).waitFor()
  t.equal(await page.locator('img, svg:not(.icon), iframe, script:not([src])').count(), 0, 'no element was created')
  t.match(await page.title(), / – topicd 127\.0\.0\.1:\d+$/, 'nothing was executed')
  isClean(t, server, watched)
})

await t.test('the page works by keyboard, at a width of 390 px, and in light and dark colours', { skip }, async (t) => {
  await add(server, "it's/x", '1')
  for (const colorScheme of ['light', 'dark'] as const) {
    const viewport = { width: 390, height: 700 }
    const permissions = ['clipboard-read', 'clipboard-write']
    const watched = await openWatched(browser, `${server.url}/console`, { colorScheme, viewport, permissions })
    const { page } = watched
    await page.waitForFunction("document.activeElement.id === 'key'")
    await page.keyboard.type(server.token)
    await page.keyboard.press('Enter')
    await treeItem(page, "it's").focus()
    await page.keyboard.press('ArrowRight')
    await treeItem(page, 'x').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.locator('pre.value').waitFor()
    await until(
      'the topic has the focus',
      async () => (await page.evaluate('document.activeElement.id')) === 'topic-path' || undefined,
    )
    const title = await page.locator('#topic-path').boundingBox()
    t.ok(title !== null && title.y < viewport.height / 2, 'and is visible')
    const width = await page.evaluate<number>('document.documentElement.scrollWidth')
    t.ok(width <= viewport.width, `${width} pixels wide`)
    await checkAccessibility(t, page, `${colorScheme}, narrow`)
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByText('Copied.').waitFor()
    const command = await page.evaluate<string>('navigator.clipboard.readText()')
    t.match(command, `--data-binary '{"path":"it'\\''s/x","type":"any","with_properties":true}'`)
    t.match(command, '"authorization: Apikey $KEY"', 'without the key itself')
    await page.keyboard.press('/')
    t.equal(await page.evaluate('document.activeElement.id'), 'words', 'a slash leads to the search')
    isClean(t, server, watched)
  }
})

await t.test('every value of a frequently updated topic is shown as it arrives in the stream', { skip }, async (t) => {
  await add(server, 'a/b', '0')
  const opened = await openConsole(browser, server)
  const { page } = opened
  await choose(page, 'a/b')
  await page.evaluate(`(() => {
    window.seen = new Set()
    const value = document.querySelector('pre.value')
    new MutationObserver(() => seen.add(value.textContent)).observe(value, { characterData: true, childList: true, subtree: true })
  })()`)
  await drawn(page)
  const urls: string[] = []
  page.on('request', (request) => urls.push(request.url()))
  // Each value is written once the previous value is shown.
  for (let i = 1; i <= 100; i++) {
    await server.post('set', { path: 'a/b', value: i })
    await page.locator('pre.value', { hasText: new RegExp(`^${i}$`) }).waitFor()
  }
  t.equal(await page.evaluate('seen.size'), 100)
  const asked = urls.filter((url) => url.includes('/topics/'))
  t.ok(asked.length <= 3, `${asked.length} requests`)
  await page.locator('pre.value.changed-0').waitFor()
  t.pass('a changed value is marked')
  const fading = () =>
    page.evaluate<string>("getComputedStyle(document.querySelector('pre.value')).animationTimingFunction")
  t.equal(await fading(), 'ease-out')
  await page.emulateMedia({ reducedMotion: 'reduce' })
  t.match(await fading(), /^step/, 'no motion if the user prefers reduced motion')
  await server.post('add', { path: 'c' })
  await treeItem(page, 'c').waitFor()
  t.pass('a new topic is in the tree')
  await goTo(page, '#?*.*')
  await page.locator('.topics tbody tr').nth(1).waitFor()
  await server.post('set', { path: 'a/b', value: 'marked' })
  await page.locator('.topics tr.changed-1, .topics tr.changed-0', { hasText: 'marked' }).waitFor()
  t.pass('a changed result is marked')
  isClean(t, server, opened)
})

await t.test('changes are listed with the newest first until the list is paused', { skip }, async (t) => {
  await add(server, 'a/b', '1')
  const opened = await openConsole(browser, server)
  const { page } = opened
  await goTo(page, '#?*a//')
  await page.getByRole('link', { name: 'Changes' }).click()
  await page.getByRole('heading', { name: 'Changes to *a//' }).waitFor()
  await page.getByText('Nothing has changed yet.').waitFor()
  await server.post('set', { path: 'a/b', value: 2 })
  await page.locator('.changes tbody tr').waitFor()
  await server.post('addAndSet', { path: 'a/c', value: '<b>text</b>' })
  await page.locator('.changes tbody tr').first().getByText('<b>text</b>').waitFor()
  await server.post('remove', { path: 'a/c' })
  await page.locator('.changes tbody tr').first().getByText('removed').waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  const count = await page.locator('.changes tbody tr').count()
  await server.post('addAndSet', { path: 'a/d', value: 'in the pause' })
  await page.getByText('Paused').waitFor()
  t.equal(await page.locator('.changes tbody tr').count(), count, 'nothing is added during a pause')
  await clickTwice(page.getByRole('button', { name: 'Resume' }))
  await page.getByText('Paused').waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.locator('.changes tbody tr').first().getByText('in the pause').waitFor()
  t.equal(await page.locator('.changes tr', { hasText: 'in the pause' }).count(), 1, 'listed once, after the pause')
  await checkAccessibility(t, page, 'the changes')
  await page.getByRole('link', { name: 'Show the topics' }).click()
  await page.getByText('1–2 of 2').waitFor()
  isClean(t, server, opened)
})

await t.test('an edit survives the revocation of its key', { skip }, async (t) => {
  await add(server, 'e', '"before"')
  const ending = await server.addKey('ending')
  const { page } = await openConsole(browser, server, ending)
  await choose(page, 'e')
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('New value').fill('"written"')

  const asked = page.waitForEvent('dialog')
  void page.getByRole('button', { name: 'Sign out' }).click()
  const question = await asked
  t.match(question.message(), /unsaved/, 'signing out asks')
  await question.dismiss()

  t.equal((await server.command('keys', 'revoke', 'ending')).code, 0)
  await page.getByText('The service does not know this API key').waitFor()
  await page.getByText('Your unsaved edits are kept').waitFor()
  t.equal(await page.evaluate('document.activeElement.id'), 'key')
  await signIn(page, server.token)
  t.equal(await page.getByLabel('New value').inputValue(), '"written"')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('pre.value', { hasText: 'written' }).waitFor()
  t.equal(await shownValue(page), '"written"')
})

await t.test("visits resume once the service is back, and report another program's response", { skip }, async (t) => {
  await add(server, 'v', '1')
  const { page } = await openConsole(browser, server)
  const draining = {
    status: 503,
    contentType: 'application/json',
    body: '{"code":"draining","message":"This worker is shutting down; reconnect."}',
  }
  await page.route('**/console/key', (route) => route.fulfill(draining))
  await page.reload()
  await page.getByText('This worker is shutting down').waitFor()
  t.notOk(await page.getByLabel('API key', { exact: true }).isVisible(), 'the key is not asked for again')
  await page.unroute('**/console/key')
  await page.locator('.workspace').waitFor()
  t.pass('the visit continues automatically')

  const other = await openWatched(browser, `${server.url}/console`)
  await other.page.route('**/console/key', (route) =>
    route.fulfill({ status: 200, contentType: 'text/html', body: '<p>Log in' }),
  )
  await other.page.getByLabel('API key').fill(server.token)
  await other.page.keyboard.press('Enter')
  await other.page.getByText('The response is not from topicd.').waitFor()
  await other.page.unroute('**/console/key')
  await signIn(other.page, `  Apikey ${server.token} `)
  t.pass('the word before a key is ignored')
  t.strictSame(other.complaints, [])
})
