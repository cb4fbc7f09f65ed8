/** The page of the topics in headless Chromium: a search by plain words, its matches in columns, and as a file. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import { addTopic, checkAccessibility, isClean, openConsole } from '../support/browser/console.js'
import { runCommand, startServer } from '../support/service/server.js'

t.setTimeout(600_000)

const skip = whyNoBrowser()

await t.test('words are found in any order and either case, and the selector is shown', { skip }, async (t) => {
  const server = await startServer(t)
  for (const path of ['Plant/7/temp', 'plant/8/TEMP.max', 'plant/8/door', 'a+b/x']) await addTopic(server, path, '1')
  await server.post('add', { path: 'plant/9/temp', type: 'string' })
  const watched = await openConsole(await startBrowser(t), server)
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

await t.test('all matches are downloaded as an export, which can be imported', { skip }, async (t) => {
  const server = await startServer(t)
  const texts = new Map(
    Array.from({ length: 45 }, (_, i) => [`s/${100 + i}`, `{"n":${i}.50,"big":12345678901234567890}`]),
  )
  for (const [path, text] of texts)
    await addTopic(server, path, text, ',"properties":{"REMOVAL":"when no updates for 30d"}')
  await addTopic(server, 'other', '1')
  const watched = await openConsole(await startBrowser(t), server)
  const { page } = watched
  await page.evaluate(`location.hash = '#??s//'`)
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
