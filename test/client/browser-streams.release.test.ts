/**
 * Streams in a browser, whose tabs share six connections to a host: any number of follows in any number of tabs stays live,
 * and other requests get responses. A hidden tab keeps no connection open.
 */
import type { BrowserContext, Page } from 'playwright-core'
import t from 'tap'
import { startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import { addTopic, choose, signIn } from '../support/browser/console.js'
import { scrape } from '../support/service/metrics.js'
import { type Server, startServer, until } from '../support/service/server.js'

t.setTimeout(600_000)

const skip = whyNoBrowser()

/** Five selectors that the client can match, and five that only the service can match. */
const selectors = ['a/b', '>a/b', '*a//', '?a/.*', '*.*', '*(a|b)//', '?a/[b-c]', '?(a|b)//', '*a/[bc]', '?a/b|c']

/** A page of the service's origin, with `follow(selector)` and the client `topics`. */
async function openPage(context: BrowserContext, server: Server): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${server.url}/client.js`)
  await page.evaluate(`(async () => {
    const { connect } = await import('/client.js')
    globalThis.topics = connect(location.origin, { key: ${JSON.stringify(server.token)} })
    globalThis.lives = []
  })()`)
  return page
}

const valuesIn = (page: Page) => page.evaluate(`lives.map(({ topics }) => topics.get('a/b')?.value)`)

async function streamsOf(server: Server): Promise<number> {
  return (await scrape(server.adminUrl)).value('topicd_changes_streams')
}

async function sees(page: Page, value: number, count: number): Promise<void> {
  const expected = JSON.stringify(Array(count).fill(value))
  await until(`${value} everywhere`, async () => JSON.stringify(await valuesIn(page)) === expected || undefined)
}

t.test('ten follows in one page and eight consoles all stay live, and a fetch gets a response', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'a/b', '1')
  const context = await (await startBrowser(t)).newContext()
  const page = await openPage(context, server)
  await page.evaluate(`for (const selector of ${JSON.stringify(selectors)}) lives.push(topics.follow(selector))`)
  await sees(page, 1, selectors.length)
  const tabs: Page[] = []
  for (let tab = 0; tab < 8; tab++) {
    const console = await context.newPage()
    await console.goto(`${server.url}/console`)
    await signIn(console, server.token)
    await choose(console, 'a/b')
    tabs.push(console)
  }
  for (const tab of tabs) t.equal(await tab.evaluate('document.hidden'), false)
  for (const value of [2, 3]) {
    await server.post('set', { path: 'a/b', value })
    await sees(page, value, selectors.length)
    for (const tab of tabs) await tab.locator('pre.value', { hasText: new RegExp(`^${value}$`) }).waitFor()
  }
  t.pass('all are live')
  const path = await page.evaluate(`topics.get('a/b').then(({ path }) => path)`)
  t.equal(path, 'a/b', 'a fetch gets a connection and a response')
  t.ok((await streamsOf(server)) <= 4)
})

t.test('a hidden tab drops its stream after 10 s, and resumes when it becomes visible', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'a/b', '1')
  const page = await openPage(await (await startBrowser(t)).newContext(), server)
  const follow = () => page.evaluate(`lives.push(topics.follow('a/b'))`)
  const show = (isShown: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${!isShown}, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))`)
  await page.clock.install()
  await follow()
  // A place is granted after the time in which other tabs may respond.
  await until('a stream', async () => {
    await page.clock.runFor(100)
    return (await streamsOf(server)) === 1 || undefined
  })
  await show(false)
  await page.clock.runFor(9000)
  t.equal(await streamsOf(server), 1)
  await page.clock.runFor(2000)
  await until('no stream', async () => (await streamsOf(server)) === 0 || undefined)
  await server.post('set', { path: 'a/b', value: 2 })
  await show(true)
  await until('the change', async () => {
    await page.clock.runFor(100)
    return JSON.stringify(await valuesIn(page)) === '[2]' || undefined
  })
  t.equal(await streamsOf(server), 1)
})
