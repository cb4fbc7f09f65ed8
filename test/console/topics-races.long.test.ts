/** The Topics page if the user, or another client, acts while a request of the page is running or a form is open. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  addTopic,
  choose,
  dialog,
  drawn,
  goTo,
  hold,
  openConsole,
  removeButton,
  startConsole,
} from '../support/browser/console.js'
import { until } from '../support/service/server.js'

const { skip, server, browser } = await startConsole(t)

await t.test('unsaved text is not lost to a late save or another edit', { skip }, async (t) => {
  await addTopic(server, 'shared', '"first"')
  const { page } = await openConsole(browser, server)
  await choose(page, 'shared')
  const field = page.getByLabel('New value as JSON')
  const edit = async (text: string) => {
    await page.getByRole('button', { name: 'Edit' }).click()
    await field.fill(text)
  }
  await edit('"sent"')
  const { seen, release } = await hold(page, 'set')
  await page.getByRole('button', { name: 'Save' }).click()
  await until('the save', async () => seen.length > 0 || undefined)
  page.once('dialog', (asked) => void asked.accept())
  await page.getByRole('button', { name: 'Cancel' }).click()
  await edit('"written later"')
  const answered = page.waitForResponse('**/topics/set')
  release()
  await answered
  await page.locator('pre.value', { hasText: '"sent"' }).waitFor()
  t.equal(await field.inputValue(), '"written later"')

  const asked: string[] = []
  page.on('dialog', (question) => {
    asked.push(question.message())
    void question.dismiss()
  })
  await page.getByRole('button', { name: 'Edit the current value' }).click()
  t.strictSame(asked, ['Discard your changes?'])
  t.equal(await field.inputValue(), '"written later"')
})

await t.test('a form that was cancelled changes nothing', { skip }, async (t) => {
  await addTopic(server, 'r/old', '1')
  const { page } = await openConsole(browser, server)
  await choose(page, 'r/old')
  await page.getByRole('button', { name: 'Rename…' }).click()
  await page.getByLabel('Path').fill('r/new')
  const { seen, release } = await hold(page, 'fetch')
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await until('the fetch', async () => seen.length > 0 || undefined)
  await dialog(page).getByRole('button', { name: 'Cancel' }).click()
  const answered = page.waitForResponse('**/topics/fetch')
  release()
  await answered
  await choose(page, 'r/later')
  t.equal((await server.post('fetch', { path: 'r/old' })).status, 200)
})

await t.test('properties that another client has changed are not overwritten', { skip }, async (t) => {
  await addTopic(server, 'p', '1', ',"properties":{"X":"old"}')
  const { page } = await openConsole(browser, server)
  await choose(page, 'p')
  await page.locator('.properties', { hasText: 'old' }).waitFor()
  await page.getByRole('button', { name: 'Properties…' }).click()
  await page.getByLabel('Value of property 1').fill('mine')
  await server.post('remove', { path: 'p' })
  await addTopic(server, 'p', '1', ',"properties":{"X":"theirs"}')
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await page.getByRole('alert').filter({ hasText: 'Another client has changed the properties' }).waitFor()
  t.match((await server.post('fetch', { path: 'p', with_properties: true })).text, '"theirs"')
})

await t.test('a removal is of the topics that are shown as chosen', { skip }, async (t) => {
  await addTopic(server, 'x', '1')
  await addTopic(server, 'x/below', '1')
  const { page } = await openConsole(browser, server)
  await choose(page, 'x')
  await page.getByRole('button', { name: 'Remove…' }).click()
  await removeButton(page).waitFor()
  const { seen, release } = await hold(page, 'remove')
  await removeButton(page).click()
  await until('the second count', async () => seen.length > 0 || undefined)
  await drawn(page)
  const other = dialog(page).getByLabel('everything below it', { exact: true })
  t.ok(await other.isDisabled())
  release()
  await dialog(page).getByText('1 topic removed.').waitFor()
  t.equal((await server.post('fetch', { path: 'x/below' })).status, 200)
})

await t.test('a formatted value is also shown in part', { skip }, async (t) => {
  await addTopic(server, 'list', JSON.stringify(Array.from({ length: 9000 }, (_, i) => i)))
  const { page } = await openConsole(browser, server)
  await choose(page, 'list')
  await page.getByText('Only the beginning is shown.').waitFor()
  t.equal((await page.locator('pre.value').textContent())?.length, 20_001)
  await page.getByRole('button', { name: /^Show all/ }).click()
  await page.locator('pre.value', { hasText: '8999' }).waitFor()
  for (const address of ['#///', '#//a', '#a//']) {
    await goTo(page, address)
    await page.getByText('a path cannot have empty segments').waitFor()
    await goTo(page, '#list')
    await page.locator('#topic-path', { hasText: 'list' }).waitFor()
  }
})

await t.test('a page of matches is turned even if topics change during the request', { skip }, async (t) => {
  for (let i = 0; i < 30; i++) await addTopic(server, `turn/${String(i).padStart(2, '0')}`, '1')
  const { page } = await openConsole(browser, server)
  await goTo(page, '#?%3Fturn%2F.*')
  await page.getByText('1–20 of 30').first().waitFor()
  const { seen, release } = await hold(page, 'fetch')
  await page.getByRole('button', { name: 'Next page' }).first().click()
  await until('the request for the page', async () => seen.length > 0 || undefined)
  await addTopic(server, 'turn/30', '1')
  // After this time, a change causes a request if none is running.
  await sleep(1500)
  release()
  await page.getByText('21–31 of 31').first().waitFor()
  t.equal(await page.locator('.topics a').first().textContent(), 'turn/20')
})
