/** The console in a browser: its pages, their log messages, the origins of their requests, and an accessibility check by axe. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import type { Test } from 'tap'
import { visible } from '../../../dist/console/topics/value-text.js'
import { type Server, startServer } from '../service/server.js'
import { startBrowser, whyNoBrowser } from './browser.js'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The rules that axe checks: WCAG 2, levels A and AA, and axe's own best practices. */
const axeTags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** A page that is watched from its first request. */
export interface Watched {
  readonly page: Page
  /** Errors and warnings of scripts and of the browser, except reports of 4xx responses. */
  readonly complaints: readonly string[]
  /** The origins that received any request. */
  readonly origins: ReadonlySet<string>
}

/** A service and a browser for all tests of a file. Before each test, the pages are closed and the topics removed. */
export async function startConsole(t: Test) {
  t.setTimeout(600_000)
  const skip = whyNoBrowser()
  const server = await startServer(t)
  /** Undefined if every test is skipped. */
  const browser = skip ? (undefined as never) : await startBrowser(t)
  t.beforeEach(async () => {
    for (const context of skip ? [] : browser.contexts()) await context.close()
    await server.post('remove', { selector: '?.*//' })
  })
  return { skip, server, browser }
}

/** Opens a page in its own context, with empty storage. */
export async function openWatched(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options })
  const page = await context.newPage()
  const complaints: string[] = []
  const origins = new Set<string>()
  page.on('console', (message) => {
    const isAnswer = message.text().startsWith('Failed to load resource: the server responded with a status of 4')
    if (['error', 'warning'].includes(message.type()) && !isAnswer) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('request', (request) => origins.add(new URL(request.url()).origin))
  await page.goto(url)
  return { page, complaints, origins }
}

/** Fails for every problem that axe finds on the current page. */
export async function checkAccessibility(t: Test, page: Page, what: string): Promise<void> {
  await page.evaluate(`${axeSource};0`)
  const found = await page.evaluate<readonly string[]>(`axe
    .run(document, { runOnly: ${JSON.stringify(axeTags)} })
    .then(({ violations }) => violations.map(({ id, help, nodes }) => id + ': ' + help + ': ' + nodes[0].html))`)
  t.strictSame(found, [], `axe finds nothing: ${what}`)
}

/** Signs in with a key, and waits for the tree. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('API key').fill(token)
  await page.keyboard.press('Enter')
  await page.locator('.workspace').waitFor()
}

/** Opens the page of the topics, signed in. */
export async function openConsole(browser: Browser, server: Server, token = server.token): Promise<Watched> {
  const watched = await openWatched(browser, `${server.url}/console`)
  await signIn(watched.page, token)
  return watched
}

/** Checks that apply to every visit: there were no complaints and no requests to other origins. */
export function isClean(t: Test, server: Server, { complaints, origins }: Watched): void {
  t.strictSame(complaints, [], 'no error in the console')
  t.strictSame([...origins], [new URL(server.url).origin], 'no request to another origin')
}

/** Writes a value verbatim. */
export async function addTopic(server: Server, path: string, value: string, more = ''): Promise<void> {
  const { status, text } = await server.post('addAndSet', `{"path":${JSON.stringify(path)},"value":${value}${more}}`)
  if (status !== 200) throw new Error(text)
}

/** An item of the tree, by its name. */
export const treeItem = (page: Page, name: string) => page.getByRole('treeitem', { name, exact: true })

/** Opens or closes a branch of the tree. */
export const toggle = (page: Page, name: string) => treeItem(page, name).locator('.toggle').click()

/** Waits until the page has been drawn after the last event. */
export const drawn = (page: Page) => page.evaluate('new Promise(requestAnimationFrame)')

/** Clicks twice before the page is drawn again, and waits until it has been drawn. */
export async function clickTwice(button: Locator): Promise<void> {
  await button.evaluate((element) => {
    for (let clicks = 0; clicks < 2; clicks++) element.dispatchEvent(new Event('click'))
  })
  await drawn(button.page())
}

/** Holds the page's requests to a route until they are released. */
export async function hold(page: Page, route: string) {
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const seen: string[] = []
  await page.route(`**/topics/${route}`, async (asked) => {
    seen.push(asked.request().postData() ?? '')
    await held
    await asked.continue()
  })
  return { seen, release }
}

/** The exact value that is shown. */
export async function shownValue(page: Page): Promise<string | null> {
  await drawn(page)
  return page.locator('pre.value').textContent()
}

export const goTo = (page: Page, hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`)

export const dialog = (page: Page) => page.getByRole('dialog')
export const removeButton = (page: Page) => dialog(page).getByRole('button', { name: /^Remove \d/ })

/** Shows the topic at a path, and waits until it is shown. */
export async function choose(page: Page, path: string): Promise<void> {
  await goTo(page, `#${encodeURIComponent(path)}`)
  await page.locator('#topic-path', { hasText: visible(path) }).waitFor()
  await page
    .locator('pre.value')
    .or(page.getByText(/There is no topic at this path/))
    .waitFor()
}
