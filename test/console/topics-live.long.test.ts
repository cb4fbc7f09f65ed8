/** The page of the topics in headless Chromium: what changes is shown by itself, and an idle page asks for nothing. */
import t from 'tap'
import { startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import { addTopic, checkAccessibility, isClean, openConsole } from '../support/browser/console.js'
import { startServer, until } from '../support/service/server.js'

t.setTimeout(180_000)

const skip = whyNoBrowser()

/** An idle page sends nothing for so long, in ms: one that asks again and again would ask some times. */
const idleMs = 4000

await t.test('the screen follows the topics, without asking again and again', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'a/b', '1')
  const opened = await openConsole(await startBrowser(t), server)
  const { page } = opened
  let fetches = 0
  let lastMs = Date.now()
  page.on('request', (request) => {
    if (!request.url().endsWith('/topics/fetch')) return
    fetches++
    lastMs = Date.now()
  })
  await page.evaluate(`location.hash = '#a%2Fb'`)
  await page.locator('.value', { hasText: /^1$/ }).waitFor()
  await until('the page is idle', async () => (Date.now() - lastMs > idleMs ? true : undefined))
  const before = fetches
  await server.post('set', { path: 'a/b', value: 2 })
  await page.locator('.value.changed', { hasText: /^2$/ }).waitFor()
  t.ok(fetches > before, 'it asked when there was something')
  await page.locator('.value.changed').waitFor({ state: 'detached' })
  await server.post('add', { path: 'c' })
  await page.getByRole('link', { name: 'c', exact: true }).waitFor()
  t.pass('a new topic is in the tree')
  await page.evaluate(`location.hash = '#?*.*'`)
  await page.locator('.matches tbody tr').nth(1).waitFor()
  await server.post('set', { path: 'a/b', value: 'marked' })
  await page.locator('.matches tr.changed', { hasText: 'marked' }).waitFor()
  t.pass('a changed result is marked')
  isClean(t, server, opened)
})

await t.test('changes are listed as they happen, the newest first, until they are paused', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'a/b', '1')
  const opened = await openConsole(await startBrowser(t), server)
  const { page } = opened
  await page.evaluate(`location.hash = '#?*a//'`)
  await page.getByRole('link', { name: 'Changes' }).click()
  await page.getByRole('heading', { name: 'Changes of *a//' }).waitFor()
  await page.getByText('Nothing has changed yet.').waitFor()
  // It may not have begun to listen yet.
  await until('the first change is listed', async () => {
    await server.post('set', { path: 'a/b', value: 2 })
    return (await page.locator('.changes tbody tr').count()) > 0 ? true : undefined
  })
  await server.post('addAndSet', { path: 'a/c', value: '<b>text</b>' })
  await page.locator('.changes tbody tr').first().getByText('<b>text</b>').waitFor()
  await server.post('remove', { path: 'a/c' })
  await page.locator('.changes tbody tr').first().getByText('removed').waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  const count = await page.locator('.changes tbody tr').count()
  await server.post('addAndSet', { path: 'a/d', value: 'in the pause' })
  await page.getByText('Paused').waitFor()
  t.equal(await page.locator('.changes tbody tr').count(), count, 'nothing is added in a pause')
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.locator('.changes tbody tr').first().getByText('in the pause').waitFor()
  t.pass('what changed in the pause is listed after it')
  await checkAccessibility(t, page, 'the changes')
  await page.getByRole('link', { name: 'Show the topics' }).click()
  await page.getByText('Page 1,').waitFor()
  isClean(t, server, opened)
})
