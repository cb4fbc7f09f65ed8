/** The Topics page in headless Chromium: the tree, searches, pages of matches, and wildcards of other systems. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  addTopic,
  checkAccessibility,
  choose,
  clickTwice,
  dialog,
  drawn,
  goTo,
  isClean,
  openConsole,
  startConsole,
  treeItem,
} from '../support/browser/console.js'
import { runCommand } from '../support/service/server.js'

const { skip, server, browser } = await startConsole(t)

await t.test('the page distinguishes a missing topic from a topic that the key may not fetch', { skip }, async (t) => {
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
  await page.getByText('This URL does not name a topic').waitFor()

  await treeItem(page, '3').click()
  await page.getByText('There is no topic at this path, but there are topics below it.').waitFor()
  t.pass('a branch can be selected')
})

await t.test('a branch is shown as a table of its children and their values', { skip }, async (t) => {
  for (let i = 1; i <= 12; i++) await addTopic(server, `plant/sensor-${i}`, String(100 - i))
  await addTopic(server, 'plant/sensor-2/deep', '"<b>"')
  for (let i = 0; i < 120; i++) await addTopic(server, `many/n-${i}/x`, '1')
  const watched = await openConsole(browser, server)
  const { page } = watched
  const names = page.locator('.children tbody a')
  await treeItem(page, 'plant').click()
  await page.getByText('1–12 of 12').waitFor()
  await page.getByRole('cell', { name: '88', exact: true }).waitFor()
  t.strictSame((await names.allTextContents()).slice(0, 3), ['sensor-1', 'sensor-2/', 'sensor-3'], '2 before 10')
  t.strictSame(
    (await page.locator('.tree ul a').allTextContents()).map((text) => text.trim()).slice(0, 3),
    ['sensor-1', 'sensor-2', 'sensor-3'],
    'also in the tree',
  )
  await checkAccessibility(t, page, 'a branch')
  await page.getByRole('button', { name: 'Value' }).click()
  await drawn(page)
  t.equal(await names.first().textContent(), 'sensor-12', 'sorted by value')
  await addTopic(server, 'plant/sensor-7', '1.50')
  await page.locator('.children tbody tr').first().getByText('1.50').waitFor()
  t.equal(await names.first().textContent(), 'sensor-7', 'the order follows changes')
  const valueHead = page.getByRole('columnheader', { name: 'Value' })
  t.equal(await valueHead.getAttribute('aria-sort'), 'ascending')
  await clickTwice(page.getByRole('button', { name: 'Value' }))
  t.equal(await valueHead.getAttribute('aria-sort'), 'ascending', 'of two clicks within one frame, both count')
  await page.getByLabel('Filter the children by name').fill('R-1')
  await page.getByText('1–4 of 4').waitFor()
  await page.getByRole('link', { name: 'Search all levels below' }).click()
  await page.getByRole('link', { name: 'plant/sensor-1', exact: true }).waitFor()
  t.equal(await page.locator('.topics a').first().textContent(), 'plant/sensor-1')
  await page.goBack()
  await page.getByRole('link', { name: 'Everything below: 13 topics' }).waitFor()
  t.equal(
    await page.getByRole('link', { name: 'Changes' }).getAttribute('href'),
    '#=%3Fplant%2F%2F',
    'changes of everything below',
  )
  await page.getByRole('link', { name: 'Everything below: 13 topics' }).click()
  await page.getByText('1–13 of 13').first().waitFor()

  await treeItem(page, 'many').click()
  await page.getByText('1–50 of 120').first().waitFor()
  await page.getByRole('button', { name: 'Next page' }).last().click()
  await page.getByText('51–100 of 120').first().waitFor()
  t.equal(await names.first().textContent(), 'n-50/')
  await server.post('remove', { selector: '?many/n-(1..|[5-9].)//' })
  await page.getByText('1–50 of 50').waitFor()
  t.equal(await names.first().textContent(), 'n-0/', 'a page that no longer exists is replaced by the last one')
  isClean(t, server, watched)
})

await t.test('selected rows are removed together', { skip }, async (t) => {
  for (const path of ['c/1', 'c/2', 'c/3', 'c/2/deep']) await addTopic(server, path, '1')
  const { page } = await openConsole(browser, server)
  await goTo(page, '#c')
  for (const name of ['1', '2']) await page.getByLabel(`Select ${name}`, { exact: true }).check()
  await page.getByText('2 selected').waitFor()
  await page.getByRole('button', { name: 'Remove selected…' }).click()
  await page.getByRole('button', { name: 'Remove 2 topics' }).waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Remove selected…' }).click()
  await page.getByLabel('the topics and everything below them').check()
  await page.getByRole('button', { name: 'Remove 3 topics' }).click()
  await page.getByText('3 topics removed.').waitFor()
  t.equal((await server.post('fetch', { selector: '?.*//', count: true })).text, '{"count":1}')
  await page.getByRole('button', { name: 'Close' }).click()
  await addTopic(server, 'c/1', '1')
  await page.getByLabel('Select 1', { exact: true }).waitFor()
  t.equal(await page.getByRole('button', { name: 'Remove selected…' }).count(), 0, 'a removal clears the selection')

  // Paths that do not fit into one selector.
  for (let i = 0; i < 5; i++) await addTopic(server, `long/${'x'.repeat(1900)}${i}`, '1')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await goTo(page, '#long')
  await page.getByText('1–5 of 5').waitFor()
  await page.getByLabel('Select all').check()
  const { height = 0 } = (await page.getByRole('treeitem', { name: /^x+0$/ }).boundingBox()) ?? {}
  t.ok(height > 0 && height < 80, `a long name has three lines in the tree: ${height} px`)
  await page.getByRole('button', { name: 'Remove selected…' }).click()
  await page.getByRole('button', { name: 'Copy the removal as curl' }).click()
  await page.getByText('Copied.').waitFor()
  const commands = await page.evaluate<string>('navigator.clipboard.readText()')
  t.equal(commands.match(/^curl -sS /gm)?.length, 2, 'one command per selector')
})

await t.test('the dialogs for a topic write nothing if nothing would change', { skip }, async (t) => {
  for (const path of ['d/taken', 'd/old/deep']) await addTopic(server, path, '1')
  await addTopic(server, 'd/old', '""', ',"type":"string","properties":{"X":"y"}')
  const { page } = await openConsole(browser, server)
  let batches = 0
  page.on('request', (request) => request.url().endsWith('/topics/batch') && batches++)
  await choose(page, 'd/old')
  await page.getByRole('button', { name: 'Properties…' }).click()
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await page.getByRole('alert').filter({ hasText: 'The topic already has these properties.' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Rename…' }).click()
  await dialog(page).getByText('The topics below it keep their paths.').waitFor()
  await page.getByLabel('Path').fill('d/taken')
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await page.getByRole('alert').filter({ hasText: 'A topic already exists at this path' }).waitFor()
  t.equal(batches, 1, 'the batch is not repeated')
  page.once('dialog', (asked) => void asked.accept())
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Duplicate…' }).click()
  await drawn(page)
  t.equal(await dialog(page).getByText('keep their paths').count(), 0)
  await page.getByLabel('Path').fill('d/new')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.locator('#topic-path', { hasText: 'd/new' }).waitFor()
  t.match(
    (await server.post('fetch', { path: 'd/new', type: 'string' })).text,
    '"value":""',
    'an empty string is a value',
  )
})

await t.test('the names of deeply nested topics stay within the tree panel', { skip }, async (t) => {
  const path = `${'d/'.repeat(60)}end`
  await addTopic(server, path, '1')
  const { page } = await openConsole(browser, server)
  for (const width of [1200, 390]) {
    await page.setViewportSize({ width, height: 800 })
    await choose(page, path)
    const tree = await page.locator('nav').boundingBox()
    const item = await treeItem(page, 'end').boundingBox()
    t.ok(tree && item && item.width > 100 && item.x + item.width < tree.x + tree.width, `${item?.width} pixels wide`)
    t.equal(await page.locator('nav').evaluate((nav) => nav.scrollWidth - nav.clientWidth), 0)
  }
})

await t.test('a topic can be duplicated, renamed and given other properties', { skip }, async (t) => {
  await addTopic(server, 'r/old', '{"big":12345678901234567890.10}', ',"properties":{"X":"y"}')
  await addTopic(server, 'r/taken', '1')
  const { page } = await openConsole(browser, server)
  await choose(page, 'r/old')
  await page.getByRole('button', { name: 'Duplicate…' }).click()
  await page.getByLabel('Path').fill('r/copy')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.locator('#topic-path', { hasText: 'r/copy' }).waitFor()
  await page.getByRole('button', { name: 'Rename…' }).click()
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await page.getByRole('alert').filter({ hasText: 'The topic already has this path.' }).waitFor()
  await page.getByLabel('Path').fill('r/taken')
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await page.getByRole('alert').filter({ hasText: 'A topic already exists at this path' }).waitFor()
  await page.getByLabel('Path').fill('r/new')
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await page.locator('#topic-path', { hasText: 'r/new' }).waitFor()
  await page.locator('pre.value').waitFor()
  await page.getByRole('button', { name: 'Properties…' }).click()
  await dialog(page).getByText('r/new', { exact: true }).waitFor()
  t.equal(await page.getByLabel('Path').count(), 0, 'there is no field for the path')
  await page.getByRole('button', { name: 'Remove automatically…' }).click()
  await page.getByLabel('Unit').waitFor()
  // Two inputs within one frame must both count.
  await page.evaluate(`for (const [label, value, type] of [['Period', '90', 'input'], ['Unit', 'd', 'change']])
    Object.assign(document.querySelector('[aria-label=' + label + ']'), { value }).dispatchEvent(new Event(type))`)
  await checkAccessibility(t, page, 'properties')
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await page.locator('.properties', { hasText: 'when no updates for 90d' }).waitFor()
  const { text } = await server.post('fetch', { selector: '?r//', with_properties: true })
  t.match(text, '"path":"r/new","type":"json","value":{"big":12345678901234567890.10}', 'every digit')
  t.strictSame(
    (JSON.parse(text) as { results: { path: string; properties: object }[] }).results.map(({ path, properties }) => [
      path,
      properties,
    ]),
    [
      ['r/new', { X: 'y', REMOVAL: 'when no updates for 90d' }],
      ['r/old', { X: 'y' }],
      ['r/taken', {}],
    ],
  )
})

await t.test('the root shows an overview of the topics and the latest changes', { skip }, async (t) => {
  await addTopic(server, 'o/1', '1')
  const watched = await openConsole(browser, server)
  const { page } = watched
  await page.getByText('Nothing has changed since this page was opened.').waitFor()
  await page
    .getByRole('definition')
    .filter({ hasText: /^ready$/ })
    .waitFor()
  await page.getByRole('link', { name: 'Everything below: 1 topic' }).waitFor()
  await addTopic(server, 'o/2', '1')
  await page.locator('.last').getByRole('link', { name: 'o/2' }).waitFor()
  await server.post('remove', { path: 'o/1' })
  await page.locator('.last li', { hasText: 'removed' }).getByRole('link', { name: 'o/1' }).waitFor()
  await checkAccessibility(t, page, 'the overview')
  isClean(t, server, watched)
})

await t.test('the page starts at the subtrees that a restricted key may fetch', { skip }, async (t) => {
  for (const path of ['a/b/c/1', 'a/b/c/2', 'a/x', 'z/y/1']) await addTopic(server, path, '1')
  const one = await server.addKey('one', { under: ['a/b/c'] })
  const two = await server.addKey('two', { under: ['a/b/c', 'z/y'] })
  const none = await server.addKey('none', { under: ['not/yet'] })
  const { page } = await openConsole(browser, server, one)
  await page.getByText('1–2 of 2').waitFor()
  t.equal(await page.locator('#topic-path').textContent(), 'a/b/c')
  const treeNames = async (of: typeof page) =>
    (await of.locator('nav .tree a').allTextContents()).map((text) => text.trim().replace(/\s.*/s, ''))
  t.strictSame(await treeNames(page), ['a', 'b', 'c', '1', '2'])
  await treeItem(page, 'b').click()
  await page.getByText('This API key may not fetch this path; it may fetch below a/b/c.').waitFor()
  await page.goBack()
  await page.getByText('1–2 of 2').waitFor()

  const several = await openConsole(browser, server, two)
  await treeItem(several.page, '1').nth(1).waitFor()
  t.strictSame(await treeNames(several.page), ['a', 'b', 'c', '1', '2', 'z', 'y', '1'])
  const empty = await openConsole(browser, server, none)
  await empty.page.getByText('There are no topics here yet.').waitFor()
  t.equal(await empty.page.locator('#topic-path').textContent(), 'not/yet')
})

await t.test('a page of matches keeps its position after a failed request and after "back"', { skip }, async (t) => {
  for (let i = 0; i < 30; i++) await addTopic(server, `s/${String(i).padStart(2, '0')}`, String(i))
  const { page } = await openConsole(browser, server)
  await goTo(page, '#?%3Fs%2F.*')
  await page.getByText('1–20 of 30').first().waitFor()
  await page.reload()
  await page.getByText('1–20 of 30').first().waitFor()
  t.equal(await page.locator('#words').inputValue(), '?s/.*', 'the box shows the selector of the address')

  await page.route('**/topics/fetch', (route) => route.abort())
  await page.getByRole('button', { name: 'Next page' }).first().click()
  await page.getByRole('alert').first().waitFor()
  await page.unroute('**/topics/fetch')
  await page.getByText('1–20 of 30').first().waitFor()
  t.equal(
    await page.locator('.topics a').first().textContent(),
    's/00',
    'a page that could not be fetched is not shown',
  )

  await page.getByRole('button', { name: 'Next page' }).first().click()
  await page.getByText('21–30 of 30').waitFor()
  t.match(await page.evaluate('document.activeElement.textContent'), /Next page/, 'the focus stays')
  t.equal(await page.title(), `?s/.* – topicd ${new URL(server.url).host}`)
  await page.getByRole('link', { name: 's/25' }).click()
  await page.locator('#topic-path', { hasText: 's/25' }).waitFor()
  await page.goBack()
  await page.getByText('21–30 of 30').waitFor()
  t.pass('"back" leads to the page of results')
  for (let i = 20; i < 30; i++) await server.post('remove', { path: `s/${i}` })
  await page.getByText('No matches are left on this page.').waitFor()
  await goTo(page, '#?none')
  await page.getByText('No topic matches.').waitFor()
  t.equal(await page.getByRole('button', { name: 'Remove all matches…' }).count(), 0, 'there is nothing to remove')
})

await t.test('the tree shows the path to a topic beyond the listed children', { skip }, async (t) => {
  for (let i = 0; i < 950; i += 50) {
    const operations = Array.from({ length: 50 }, (_, n) => ({ op: 'add', path: `many/${1000 + i + n}` }))
    t.equal((await server.post('batch', { operations })).status, 200)
  }
  await addTopic(server, 'many/1922/deep/x', '1')
  const watched = await openConsole(browser, server)
  const { page } = watched
  await goTo(page, '#many%2F1922%2Fdeep%2Fx')
  const shown = page.locator('nav [aria-current="true"]')
  await shown.waitFor()
  t.equal((await shown.textContent())?.trim(), 'x')
  const more = page.getByRole('treeitem', { name: /^More…/ })
  await more.filter({ hasText: '401 listed' }).waitFor()
  await page.waitForFunction(`(() => {
    const [row, nav] = ['nav [aria-current=true]', 'nav'].map((of) => document.querySelector(of).getBoundingClientRect())
    return row.top >= nav.top && row.bottom <= nav.bottom
  })()`)
  t.equal(await page.evaluate('scrollY'), 0, 'only the tree scrolls')
  await checkAccessibility(t, page, 'a topic beyond the listed children')
  await more.click()
  await more.filter({ hasText: '801 listed' }).click()
  await page.locator('.tree .count', { hasText: '950' }).waitFor()
  t.equal(await treeItem(page, '1922').count(), 1, 'once listed, the topic appears only once')
  t.equal((await shown.textContent())?.trim(), 'x', 'and stays open')
  await server.post('remove', { selector: '?many/1922//' })
  await treeItem(page, '1922').waitFor({ state: 'detached' })
  t.pass('a removed topic disappears')
  isClean(t, server, watched)
})

await t.test('an unsaved edit is listed, and can recreate the topic if it was removed', { skip }, async (t) => {
  const more = ',"type":"string","properties":{"REMOVAL":"when no updates for 1h","lines":"a = 1\\n b"}'
  for (const path of ['left/1', 'left/2']) await addTopic(server, path, '"1"', more)
  const { page } = await openConsole(browser, server)
  await choose(page, 'left/1')
  await page.getByRole('button', { name: 'Edit' }).click()
  const field = page.getByLabel('New value as plain text')
  t.equal(await field.inputValue(), '1', 'a string has no quotation marks')
  await field.fill('"seven"')
  await choose(page, 'left/2')
  await page.getByText('Not saved: left/1').getByRole('link').click()
  await drawn(page)
  t.equal(await field.inputValue(), '"seven"')
  await server.post('remove', { path: 'left/1' })
  await page.getByRole('button', { name: 'Recreate it with my text' }).click()
  await page.getByText('Saved.').waitFor()
  const { text } = await server.post('fetch', { path: 'left/1', type: 'string', with_properties: true })
  t.strictSame(
    JSON.parse(text),
    JSON.parse(`{"path":"left/1","type":"string","value":"\\"seven\\""${more.replace('"type":"string",', '')}}`),
    'with its former type and properties',
  )
})

await t.test('JSON is edited with one member per line, and stored without white space', { skip }, async (t) => {
  await addTopic(server, 'f', '{"a":1.50,"s":"x  y"}')
  const { page } = await openConsole(browser, server)
  await choose(page, 'f')
  await page.getByRole('button', { name: 'Edit' }).click()
  const field = page.getByLabel('New value as JSON')
  t.equal(await field.inputValue(), '{\n  "a": 1.50,\n  "s": "x  y"\n}')
  await field.fill('{\n  "a": 1.60,\t"s": "x  \\" y" }\n')
  await field.press('Control+s')
  await page.getByText('Saved.').waitFor()
  t.match((await server.post('fetch', { path: 'f' })).text, '"value":{"a":1.60,"s":"x  \\" y"}}')
})

await t.test('a search finds words in any order and case, and shows the selector that it uses', { skip }, async (t) => {
  for (const path of ['Plant/7/temp', 'plant/8/TEMP.max', 'plant/8/door', 'a+b/x']) await addTopic(server, path, '1')
  await server.post('add', { path: 'plant/9/temp', type: 'string' })
  const watched = await openConsole(browser, server)
  const { page } = watched
  t.equal(await page.evaluate('document.activeElement.id'), 'words', 'a search can be typed immediately')
  await page.keyboard.type('temp PLANT')
  const request = page.waitForRequest(
    (sent) => sent.url().endsWith('/topics/fetch') && (sent.postData() ?? '').includes('(?i)'),
  )
  await page.keyboard.press('Enter')
  const { selector } = (await request).postDataJSON() as { selector: string }
  t.equal(selector, '*(?i).*(temp.*PLANT|PLANT.*temp).*')
  await page.getByText('1–3 of 3').waitFor()
  t.match(await page.getByRole('heading', { level: 2 }).textContent(), selector, 'the selector is named')
  t.equal(await page.locator('#words').inputValue(), 'temp PLANT')

  const columns = ['', 'Name', 'Value', 'Type', 'Changed']
  t.strictSame(await page.getByRole('columnheader').allTextContents(), columns)
  const rows = page.locator('.topics tbody tr')
  const cells = async (row: number) => (await rows.nth(row).locator('td').allTextContents()).map((text) => text.trim())
  await rows.nth(2).locator('time').waitFor()
  t.match(await cells(0), ['', 'Plant/7/temp', '1', 'json', /^\d\d:\d\d:\d\d$/])
  t.match(await cells(2), ['', 'plant/9/temp', 'no value', 'string', /^\d\d:\d\d:\d\d$/])
  await checkAccessibility(t, page, 'matches in columns')
  await page.setViewportSize({ width: 390, height: 800 })
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'the columns fit into 390 pixels')
  t.equal(await page.getByRole('columnheader', { name: 'Type' }).count(), 0)
  await checkAccessibility(t, page, 'narrow')

  await page.locator('#words').fill('a+b')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: '*(?i).*a\\+b.*' }).waitFor()
  t.pass('special characters are quoted')
  await page.getByText('1–1 of 1').waitFor()
  await page.locator('#words').fill('?plant/8/.*')
  await page.keyboard.press('Enter')
  await page.getByText('1–2 of 2').waitFor()
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
  await page.getByText('1–20 of 45').first().waitFor()
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
  await page.getByRole('button', { name: 'Upload…' }).click()
  await page.getByLabel('File').setInputFiles(file)
  await server.post('remove', { selector: '?s//' })
  await page.getByRole('button', { name: 'Upload', exact: true }).click()
  await page.getByText('45 topics stored.').waitFor()
  t.equal((await server.command('export', '--selector', '?s//')).stdout, exported.stdout, 'and can be uploaded')
  t.equal(await page.getByText('The file may be incomplete').count(), 0)
  const upload = async (text: string): Promise<void> => {
    const buffer = Buffer.from(text)
    await page.getByLabel('File').setInputFiles({ name: 'x.ndjson', mimeType: 'application/x-ndjson', buffer })
    await page.getByRole('button', { name: 'Upload', exact: true }).click()
  }
  await upload(lines.slice(0, 7).join('\n'))
  await page.getByText('7 topics stored. The file may be incomplete').waitFor()
  await upload('{"op":"addAndSet","path":"s/8","type":"json","value":1}')
  await page.getByText(/^1 topic stored\.$/).waitFor()
  await upload('{"path":"s/201","type":"json","value":1}\n{"path":"s/202","type":"json","value":1}\nno topic')
  await page.getByText('Line 3 is not a topic in the export format; the lines before it were stored.').waitFor()
  t.equal(await page.getByText('1 topic stored.').count(), 0, 'the result of the previous upload is gone')
  t.match(await server.post('fetch', { path: 's/202' }), { status: 200 })
  const endless = join(t.testdirName, 'endless.ndjson')
  writeFileSync(endless, Buffer.alloc(64 * 1024 * 1024 + 1, 'x'))
  await page.getByLabel('File').setInputFiles(endless)
  await page.getByRole('button', { name: 'Upload', exact: true }).click()
  await page.getByText('This is not an export: a line is longer than 64 MiB.').waitFor()
  await page.keyboard.press('Escape')
  await server.post('remove', { selector: '?s//' })
  t.match(await runCommand(['import', '--data', server.dataDir], {}, readFileSync(file, 'utf8')), { code: 0 })
  t.match(await server.post('fetch', { path: 's/144' }), { text: /44.50,"big":12345678901234567890/ })
  isClean(t, server, watched)
})

await t.test('a search with wildcards of MQTT, globs or LIKE without a match is explained', { skip }, async (t) => {
  for (const path of ['plant', 'plant/7/temp', 'odd/#']) await addTopic(server, path, '1')
  const watched = await openConsole(browser, server)
  const { page } = watched
  const proposal = page.getByText('Wildcards are written differently in a selector.')
  for (const [selector, meant, first] of [
    ['plant/#', '?plant//', 'plant'],
    ['plant/+/temp', '?plant/.*/temp', 'plant/7/temp'],
    ['plant/*/*', '?plant/.*/.*', 'plant/7/temp'],
    // The service rejects these two.
    ['#', '?.*//', 'odd/#'],
    ['%temp', '*.*temp', 'plant/7/temp'],
  ] as const) {
    await page.locator('#words').fill(selector)
    await page.getByRole('button', { name: 'Find', exact: true }).click()
    await proposal.waitFor()
    await proposal.getByRole('link', { name: meant, exact: true }).click()
    await page.locator('.topics a').first().waitFor()
    t.equal(await page.locator('.topics a').first().textContent(), first, selector)
    t.equal(await page.locator('#words').inputValue(), meant, 'the box shows the selector')
    t.equal(await proposal.count(), 0)
  }
  for (const [selector, text] of [
    ['odd/#', '1–1 of 1'],
    ['plant/none', 'No topic matches.'],
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
