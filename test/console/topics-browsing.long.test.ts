/** The page of the topics in headless Chromium: the tree, searches, pages of matches, and wildcards of other systems. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  addTopic,
  checkAccessibility,
  choose,
  drawn,
  goTo,
  isClean,
  openConsole,
  startConsole,
} from '../support/browser/console.js'
import { runCommand } from '../support/service/server.js'

const { skip, server, browser } = await startConsole(t)

await t.test('a missing topic and one the key may not fetch are told apart', { skip }, async (t) => {
  for (const path of ['plant/3/a', 'v/digits']) await addTopic(server, path, '1')
  const within = await server.addKey('within', { under: ['plant/3'] })
  const { page } = await openConsole(browser, server, within)
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

await t.test('a branch lists its children, in natural order on request', { skip }, async (t) => {
  for (let i = 1; i <= 12; i++) await addTopic(server, `plant/sensor-${i}/t`, '1')
  for (let i = 0; i < 120; i++) await addTopic(server, `many/n-${i}`, '1')
  const watched = await openConsole(browser, server)
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

await t.test('a restricted key starts at the subtrees it may fetch', { skip }, async (t) => {
  for (const path of ['a/b/c/1', 'a/b/c/2', 'a/x', 'z/y/1']) await addTopic(server, path, '1')
  const one = await server.addKey('one', { under: ['a/b/c'] })
  const two = await server.addKey('two', { under: ['a/b/c', 'z/y'] })
  const none = await server.addKey('none', { under: ['not/yet'] })
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

await t.test('a page of matches has its number, also after a failure and "back"', { skip }, async (t) => {
  for (let i = 0; i < 30; i++) await addTopic(server, `s/${String(i).padStart(2, '0')}`, String(i))
  const { page } = await openConsole(browser, server)
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

await t.test('the tree shows the path of a topic that it has not listed', { skip }, async (t) => {
  for (let i = 0; i < 250; i++) await addTopic(server, `many/${1000 + i}${i === 222 ? '/deep/x' : ''}`, '1')
  const watched = await openConsole(browser, server)
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

await t.test('an unsaved edit is listed, and can recreate its removed topic', { skip }, async (t) => {
  const more = ',"type":"string","properties":{"REMOVAL":"when no updates for 1h","lines":"a = 1\\n b"}'
  for (const path of ['left/1', 'left/2']) await addTopic(server, path, '"1"', more)
  const { page } = await openConsole(browser, server)
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

await t.test('a search finds words in any order and case, and shows its selector', { skip }, async (t) => {
  for (const path of ['Plant/7/temp', 'plant/8/TEMP.max', 'plant/8/door', 'a+b/x']) await addTopic(server, path, '1')
  await server.post('add', { path: 'plant/9/temp', type: 'string' })
  const watched = await openConsole(browser, server)
  const { page } = watched
  t.equal(await page.evaluate('document.activeElement.id'), 'words', 'one can type at once')
  await page.keyboard.type('temp PLANT')
  const request = page.waitForRequest(
    (sent) => sent.url().endsWith('/topics/fetch') && (sent.postData() ?? '').includes('(?i)'),
  )
  await page.keyboard.press('Enter')
  const { selector } = (await request).postDataJSON() as { selector: string }
  t.equal(selector, '*(?i).*(temp.*PLANT|PLANT.*temp).*')
  await page.getByText('Page 1, 3 topics, the last').waitFor()
  t.match(await page.getByRole('heading', { level: 2 }).textContent(), selector, 'the selector is named')
  t.equal(await page.getByLabel('Selector').inputValue(), selector, 'and can be changed')
  t.equal(await page.getByLabel('Contains').inputValue(), 'temp PLANT')

  t.strictSame(await page.getByRole('columnheader').allTextContents(), ['Path', 'Value', 'Type', 'Updated'])
  const rows = page.locator('.matches tbody tr')
  const cells = async (row: number) => (await rows.nth(row).locator('td').allTextContents()).map((text) => text.trim())
  t.match(await cells(0), ['Plant/7/temp', '1', 'json', /^\d\d:\d\d:\d\d$/])
  t.match(await cells(2), ['plant/9/temp', 'no value', 'string', /^\d\d:\d\d:\d\d$/])
  await checkAccessibility(t, page, 'matches in columns')
  await page.setViewportSize({ width: 400, height: 800 })
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 400, 'they fit into 400 pixels')
  t.strictSame(await page.getByRole('columnheader').allTextContents(), ['Path', 'Value', 'Updated'])
  await checkAccessibility(t, page, 'narrow')

  await page.getByLabel('Contains').fill('a+b')
  await page.keyboard.press('Enter')
  await page.getByText('Page 1, 1 topic, the last').waitFor()
  t.equal(await page.getByLabel('Selector').inputValue(), '*(?i).*a\\+b.*', 'what is special is quoted')
  await page.getByLabel('Selector').fill('?plant/8/.*')
  await page.keyboard.press('Enter')
  await page.getByText('Page 1, 2 topics, the last').waitFor()
  t.equal(await page.getByLabel('Contains').inputValue(), '', 'other words are not shown beside it')
  isClean(t, server, watched)
})

await t.test('a download of all matches can be imported', { skip }, async (t) => {
  const texts = new Map(
    Array.from({ length: 45 }, (_, i) => [`s/${100 + i}`, `{"n":${i}.50,"big":12345678901234567890}`]),
  )
  for (const [path, text] of texts)
    await addTopic(server, path, text, ',"properties":{"REMOVAL":"when no updates for 30d"}')
  await addTopic(server, 'other', '1')
  const watched = await openConsole(browser, server)
  const { page } = watched
  await goTo(page, '#??s//')
  await page.getByText('Page 1, 20 topics').waitFor()
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download all' }).click()
  const download = await downloading
  await page.getByText('45 topics downloaded.').waitFor()
  t.match(download.suggestedFilename(), /^topics-\d{8}-\d{6}\.ndjson$/)
  const file = join(t.testdirName, 'matches.ndjson')
  await download.saveAs(file)
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  t.equal(lines.length, 46)
  t.equal(
    lines[1],
    `{"path":"s/101","type":"json","properties":{"REMOVAL":"when no updates for 30d"},"value":${texts.get('s/101')}}`,
  )

  const exported = await server.command('export', '--selector', '?s//')
  t.equal(exported.stdout, readFileSync(file, 'utf8'), 'byte for byte what "topicd export" writes')
  await server.post('remove', { selector: '?s//' })
  t.match(await runCommand(['import', '--data', server.dataDir], {}, readFileSync(file, 'utf8')), { code: 0 })
  t.match(await server.post('fetch', { path: 's/144' }), { text: /44.50,"big":12345678901234567890/ })
  isClean(t, server, watched)
})

await t.test('wildcards of MQTT, globs and LIKE are explained if they match nothing', { skip }, async (t) => {
  for (const path of ['plant', 'plant/7/temp', 'odd/#']) await addTopic(server, path, '1')
  const watched = await openConsole(browser, server)
  const { page } = watched
  const proposal = page.getByText('Wildcards are written differently in a selector.')
  for (const [selector, meant, first] of [
    ['plant/#', '?plant//', 'plant'],
    ['plant/+/temp', '?plant/.*/temp', 'plant/7/temp'],
    ['plant/*/*', '?plant/.*/.*', 'plant/7/temp'],
    // These two are refused.
    ['#', '?.*//', 'odd/#'],
    ['%temp', '*.*temp', 'plant/7/temp'],
  ] as const) {
    await page.getByLabel('Selector').fill(selector)
    await page.getByRole('button', { name: 'Find', exact: true }).click()
    await proposal.waitFor()
    await proposal.getByRole('link', { name: meant, exact: true }).click()
    await page.locator('.matches a').first().waitFor()
    t.equal(await page.locator('.matches a').first().textContent(), first, selector)
    t.equal(await page.getByLabel('Selector').inputValue(), meant, 'the box shows what is found')
    t.equal(await proposal.count(), 0)
  }
  for (const [selector, text] of [
    ['odd/#', 'Page 1, 1 topic, the last'],
    ['plant/none', 'Nothing matches.'],
  ] as const) {
    await goTo(page, `#?${encodeURIComponent(selector)}`)
    await page.getByText(text).waitFor()
    t.equal(await proposal.count(), 0, `${selector} needs no explanation`)
  }
  await goTo(page, '#?plant%2F%2B')
  await proposal.waitFor()
  await checkAccessibility(t, page, 'a proposal')
  isClean(t, server, watched)
})
