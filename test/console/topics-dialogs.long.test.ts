/**
 * The page of the topics in headless Chromium where something could be lost: dialogs that remove, keys that end, a
 * service that is away, edits that are interrupted.
 */
import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import {
  addTopic,
  checkAccessibility,
  choose,
  openConsole,
  openWatched,
  shownValue,
  signIn,
} from '../support/browser/console.js'
import { type Server, startServer, until } from '../support/service/server.js'

t.setTimeout(360_000)

const skip = whyNoBrowser()

const dialog = (page: Page) => page.getByRole('dialog')
const removeButton = (page: Page) => dialog(page).getByRole('button', { name: /^Remove \d/ })

async function isThere(server: Server, path: string): Promise<boolean> {
  return (await server.post('fetch', { path })).status === 200
}

await t.test('a removal needs its own button', { skip }, async (t) => {
  const server = await startServer(t)
  for (const path of ['k/3', 'k/4', 'bare/below']) await addTopic(server, path, '1')
  const { page } = await openConsole(await startBrowser(t), server)

  await choose(page, 'k/4')
  await page.getByRole('button', { name: 'Remove…' }).focus()
  await page.keyboard.press('Enter')
  await removeButton(page).waitFor()
  await page.keyboard.press('Enter')
  await dialog(page).waitFor({ state: 'hidden' })
  t.ok(await isThere(server, 'k/4'), 'Enter twice closes the dialog')

  await page.getByRole('button', { name: 'Remove…' }).click()
  await dialog(page).getByLabel('the topic itself').focus()
  await page.keyboard.press('Enter')
  t.match(await dialog(page).textContent(), /k\/4/, 'the path is named')
  await checkAccessibility(t, page, 'a removal')
  await page.goBack()
  await dialog(page).waitFor({ state: 'hidden' })
  t.ok(await isThere(server, 'k/4'), 'Enter on a choice removes nothing, and "back" closes the dialog')

  await choose(page, 'bare')
  await page.getByText('but there are topics below it').waitFor()
  await page.getByRole('button', { name: 'Remove…' }).click()
  await dialog(page).getByRole('button', { name: 'Remove 1 topic' }).waitFor()
  t.equal(await dialog(page).getByRole('radio').count(), 1, 'only what is below a branch can be removed')
})

await t.test('a removal that is cancelled while it is counted again removes nothing', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'slow', '1')
  const { page } = await openConsole(await startBrowser(t), server)
  await choose(page, 'slow')
  await page.getByRole('button', { name: 'Remove…' }).click()
  await removeButton(page).waitFor()
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const seen: string[] = []
  await page.route('**/topics/remove', async (route) => {
    seen.push(route.request().postData() ?? '')
    await held
    await route.continue()
  })
  await removeButton(page).click()
  await until('the second count', async () => seen.length > 0 || undefined)
  await dialog(page).getByRole('button', { name: 'Cancel' }).click()
  const answered = page.waitForResponse('**/topics/remove')
  release()
  await answered
  await page.waitForTimeout(300)
  t.equal(seen.length, 1)
  t.ok(await isThere(server, 'slow'))
})

await t.test('a key with a rate counts on by itself', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'r/1', '1')
  const slow = await server.addKey('slow', { rate: 1 })
  const { page } = await openConsole(await startBrowser(t), server, slow)
  await choose(page, 'r/1')
  await page.getByRole('button', { name: 'Remove…' }).click()
  await dialog(page).getByRole('button', { name: 'Remove 1 topic' }).waitFor()
  await dialog(page).getByRole('radio').nth(1).click()
  await dialog(page).getByRole('button', { name: 'Remove 1 topic' }).waitFor()
  await dialog(page).getByRole('radio').nth(2).click()
  await dialog(page).getByRole('button', { name: 'Remove 0 topics' }).waitFor()
  t.pass('each choice is counted, however often the rate refuses')
})

await t.test(
  'a request beyond the rate says when the next one is possible, and what is repeated',
  { skip },
  async (t) => {
    const server = await startServer(t)
    await addTopic(server, 'r', '1')
    const { page } = await openConsole(await startBrowser(t), server)
    await choose(page, 'r')
    const refused = {
      status: 429,
      contentType: 'application/json',
      headers: { 'retry-after': '7' },
      body: '{"code":"too_many_requests","message":"m"}',
    }
    for (const route of ['set', 'remove']) await page.route(`**/topics/${route}`, (asked) => asked.fulfill(refused))
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    const alert = page.getByRole('alert')
    await alert.waitFor()
    t.equal(await alert.textContent(), "This API key's rate is reached. It allows the next request in 7 s.")
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Remove…' }).click()
    await dialog(page)
      .getByRole('alert')
      .filter({ hasText: /Counting again in 7 s\.$/ })
      .waitFor()
  },
)

await t.test('an edit outlives the end of its key', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'e', '"before"')
  const ending = await server.addKey('ending')
  const { page } = await openConsole(await startBrowser(t), server, ending)
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

await t.test('a late refusal of an earlier key does not end the session of a new one', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'late', '1')
  const first = await server.addKey('first-one')
  const { page } = await openConsole(await startBrowser(t), server, first)
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  let isHeld = false
  await page.route('**/topics/fetch', async (route) => {
    if (route.request().headers().authorization?.endsWith(first)) {
      isHeld = true
      await held
    }
    await route.continue()
  })
  await until('a request of the first key', async () => isHeld || undefined)
  t.equal((await server.command('keys', 'revoke', 'first-one')).code, 0)
  await until('the key is refused', async () => {
    const { status } = await server.post('fetch', { path: 'late' }, { token: first })
    return status === 401 || undefined
  })
  await page.getByRole('button', { name: 'Sign out' }).click()
  await signIn(page, server.token)
  const answered = page.waitForResponse((response) => response.status() === 401)
  release()
  await answered
  await choose(page, 'late')
  t.ok(await page.getByRole('button', { name: 'Sign out' }).isVisible())
})

await t.test('a visit goes on when the service is back, and says who else answers', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'v', '1')
  const browser = await startBrowser(t)
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

await t.test('a tab that is opened by a link has the key of this one, and no hold on it', { skip }, async (t) => {
  const server = await startServer(t)
  for (const path of ['tab/1', 'tab/2']) await addTopic(server, path, '1')
  const { page } = await openConsole(await startBrowser(t), server)
  await choose(page, 'tab/1')
  const hows: Parameters<Locator['click']>[0][] = [
    { modifiers: ['Control'] },
    { modifiers: ['Shift'] },
    { button: 'middle' },
  ]
  for (const how of hows) {
    const opening = page.context().waitForEvent('page')
    await page.getByRole('link', { name: '2', exact: true }).click(how)
    const opened = await opening
    await opened.getByRole('heading', { name: 'tab/2' }).waitFor()
    t.equal(await opened.evaluate('window.opener'), null)
    await opened.close()
  }
  t.ok(await page.getByRole('heading', { name: 'tab/1' }).isVisible(), 'this one stays where it is')
})

await t.test('without session storage the page works until it is loaded again', { skip }, async (t) => {
  const server = await startServer(t)
  const browser = await startBrowser(t)
  const { page } = await openWatched(browser, `${server.url}/healthz`)
  await page.addInitScript(
    `Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('no', 'SecurityError') } })`,
  )
  await page.goto(`${server.url}/console`)
  await signIn(page, server.token)
  t.ok(await page.getByRole('button', { name: 'Sign out' }).isVisible())
})
