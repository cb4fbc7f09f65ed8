/**
 * The client that the service provides for browsers: `/client.js`, imported in Chromium by a page from another origin, as
 * docs/javascript-client.md shows.
 */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import * as client from '../../dist/client/index.js'
import { servePage, startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import { blocksOf, readDocument } from '../support/documents.js'
import { first } from '../support/elements.js'
import { startServer } from '../support/service/server.js'

t.setTimeout(600_000)

await t.test('/client.js is a single file that browsers revalidate each time', async (t) => {
  const server = await startServer(t, { flags: ['--no-console', '--base-path', '/x'] })
  const answer = await fetch(`${server.url}/client.js`)
  t.equal(answer.status, 200, 'also without the console')
  t.equal(answer.headers.get('content-type'), 'text/javascript; charset=utf-8')
  t.equal(answer.headers.get('cache-control'), 'no-cache')
  t.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  t.equal(answer.headers.get('content-encoding'), 'gzip')
  const etag = answer.headers.get('etag') ?? ''
  const unchanged = await fetch(`${server.url}/client.js`, { headers: { 'if-none-match': etag } })
  t.equal(unchanged.status, 304, 'its ETag is recognised')
  t.notMatch(await answer.text(), /\bimport\b|sourceMappingURL/, 'the file names no other file')
  t.equal((await fetch(`${server.url}/client.js`, { method: 'POST' })).status, 405)
})

const skip = whyNoBrowser()

/** Opens the page of docs/javascript-client.md on another site. @param origins returns the setting for that site's origin */
async function openDocumented(t: Test, origins: (origin: string) => string) {
  let html = ''
  const port = await servePage(t, () => html)
  const origin = `http://localhost:${port}`
  const server = await startServer(t, { flags: ['--cors-origins', origins(origin), '--no-console'] })
  html = first(blocksOf(readDocument('docs/javascript-client.md'), 'html')).text.replaceAll(
    'http://127.0.0.1:8080',
    server.url,
  )
  await server.post('addAndSet', '{"path":"plant/7/temp","value":12345678901234567890}')
  const page = await (await startBrowser(t)).newPage()
  page.on('dialog', (dialog) => void dialog.accept(server.token))
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  const open = (): Promise<unknown> => page.goto(origin)
  return { server, page, complaints, open }
}

await t.test('the documented page shows every digit of a topic, and can import every export', { skip }, async (t) => {
  const { server, page, complaints, open } = await openDocumented(t, (origin) => origin)
  await open()
  await page.locator('#temperature', { hasText: '12345678901234567890' }).waitFor()
  t.strictSame(
    complaints.filter((text) => !text.includes('favicon')),
    [],
  )
  t.strictSame(await exportsIn(page, `${server.url}/client.js`), Object.keys(client).sort())
})

await t.test('a page from an origin that is not allowed cannot import /client.js', { skip }, async (t) => {
  const { server, page, open } = await openDocumented(t, () => 'https://app.example')
  await open()
  t.equal(await exportsIn(page, `${server.url}/client.js`), 'TypeError')
})

/** The sorted names of a module's exports in the page, or the name of the import's error. */
function exportsIn(page: Page, url: string): Promise<readonly string[] | string> {
  return page.evaluate(`import(${JSON.stringify(url)}).then(
    (module) => Object.keys(module).sort(),
    (error) => error.name,
  )`)
}
