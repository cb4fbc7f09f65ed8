/**
 * The page of the topics in headless Chromium where something could be lost: dialogs that remove, keys that end, a
 * service that is away, edits that are interrupted.
 */
import t from 'tap'
import {
  addTopic,
  checkAccessibility,
  choose,
  dialog,
  openConsole,
  openWatched,
  removeButton,
  shownValue,
  signIn,
  startConsole,
} from '../support/browser/console.js'

const { skip, server, browser } = await startConsole(t)

async function isThere(path: string): Promise<boolean> {
  return (await server.post('fetch', { path })).status === 200
}

await t.test('a topic is removed only by its own button', { skip }, async (t) => {
  for (const path of ['k/3', 'k/4', 'bare/below']) await addTopic(server, path, '1')
  const { page } = await openConsole(browser, server)

  await choose(page, 'k/4')
  await page.getByRole('button', { name: 'Remove…' }).focus()
  await page.keyboard.press('Enter')
  await removeButton(page).waitFor()
  await page.keyboard.press('Enter')
  await dialog(page).waitFor({ state: 'hidden' })
  t.ok(await isThere('k/4'), 'Enter twice closes the dialog')

  await page.getByRole('button', { name: 'Remove…' }).click()
  await dialog(page).getByLabel('the topic itself').focus()
  await page.keyboard.press('Enter')
  t.match(await dialog(page).textContent(), /k\/4/, 'the path is named')
  await checkAccessibility(t, page, 'a removal')
  await page.goBack()
  await dialog(page).waitFor({ state: 'hidden' })
  t.ok(await isThere('k/4'), 'Enter on a choice removes nothing, and "back" closes the dialog')

  await choose(page, 'bare')
  await page.getByText('but there are topics below it').waitFor()
  await page.getByRole('button', { name: 'Remove…' }).click()
  await dialog(page).getByRole('button', { name: 'Remove 1 topic' }).waitFor()
  t.equal(await dialog(page).getByRole('radio').count(), 1, 'only what is below a branch can be removed')
})

await t.test('an edit survives the revocation of its key', { skip }, async (t) => {
  await addTopic(server, 'e', '"before"')
  const ending = await server.addKey('ending')
  const { page } = await openConsole(browser, server, ending)
  await choose(page, 'e')
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('New value').fill('"written"')

  const asked = page.waitForEvent('dialog')
  void page.getByRole('button', { name: 'Sign out' }).click()
  const question = await asked
  t.match(question.message(), /not saved/, 'signing out asks')
  await question.dismiss()

  t.equal((await server.command('keys', 'revoke', 'ending')).code, 0)
  await page.getByText('The service does not know this API key').waitFor()
  await page.getByText('What you were editing is kept').waitFor()
  t.equal(await page.evaluate('document.activeElement.id'), 'key')
  await signIn(page, server.token)
  t.equal(await page.getByLabel('New value').inputValue(), '"written"')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('pre.value', { hasText: 'written' }).waitFor()
  t.equal(await shownValue(page), '"written"')
})

await t.test('a visit resumes when the service is back, and names foreign responses', { skip }, async (t) => {
  await addTopic(server, 'v', '1')
  const { page } = await openConsole(browser, server)
  const draining = {
    status: 503,
    contentType: 'application/json',
    body: '{"code":"draining","message":"This worker is stopping; connect again."}',
  }
  await page.route('**/console/key', (route) => route.fulfill(draining))
  await page.reload()
  await page.getByText('This worker is stopping').waitFor()
  t.notOk(await page.getByLabel('API key', { exact: true }).isVisible(), 'the key is not asked for again')
  await page.unroute('**/console/key')
  await page.locator('.workspace').waitFor()
  t.pass('it goes on by itself')

  const other = await openWatched(browser, `${server.url}/console`)
  await other.page.route('**/console/key', (route) =>
    route.fulfill({ status: 200, contentType: 'text/html', body: '<p>Log in' }),
  )
  await other.page.getByLabel('API key').fill(server.token)
  await other.page.keyboard.press('Enter')
  await other.page.getByText('Something other than topicd responded.').waitFor()
  await other.page.unroute('**/console/key')
  await signIn(other.page, `  Apikey ${server.token} `)
  t.pass('the word before a key is left out')
  t.strictSame(other.complaints, [])
})
