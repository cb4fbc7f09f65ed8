/** The client in a real browser: a page imports the unmodified built files and uses a service at another origin. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import { root } from '../support/documents.js'
import { startServer } from '../support/service/server.js'

t.setTimeout(600_000)

interface Site {
  readonly page: Page
  readonly origin: string
  /** The number of API requests that the site itself received. */
  requests: number
}

/** Opens a page of a site that serves the client's files and closes the connection of every API request. */
async function openSite(t: Test): Promise<Site> {
  const server = createServer(({ url = '' }, res) => {
    if (url.startsWith('/topics/')) {
      site.requests++
      res.destroy()
    } else if (url.startsWith('/client/')) {
      const text = readFileSync(join(root, 'dist', url), 'utf8')
      res.setHeader('content-type', 'text/javascript').end(text)
    } else res.setHeader('content-type', 'text/html').end('<!doctype html><title>a page</title>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const browser = await startBrowser(t)
  const site = { page: await browser.newPage(), origin, requests: 0 }
  await site.page.goto(origin)
  return site
}

/** Runs the body of an async function in the page, with some of the client's exports and a client `topics`. */
function run<Result>(page: Page, url: string, key: string, body: string): Promise<Result> {
  return page.evaluate<Result>(`(async () => {
    const { connect, jsonText, subtree, TopicdError } = await import('/client/index.js')
    const topics = connect(${JSON.stringify(url)}, { key: ${JSON.stringify(key)}, timeoutMs: 30_000 })
    ${body}
  })()`)
}

const skip = whyNoBrowser()

t.test('a page of another origin can read, write and walk, and gets the errors of rejections', { skip }, async (t) => {
  const { page, origin } = await openSite(t)
  const server = await startServer(t, { flags: ['--cors-origins', origin] })
  const found = await run(
    page,
    server.url,
    server.token,
    `
    await topics.addAndSet('web/a.b', jsonText('1.10'))
    await topics.update('web/n', (item) => (item?.value ?? 0) + 1)
    const texts = []
    for await (const { path, text } of topics.walk(subtree('web'), { size: 1 })) texts.push(path, text)
    const refused = await topics.set('web/none', 1).catch((error) => [error instanceof TopicdError, error.code])
    const aborted = await topics.get('web/n', { signal: AbortSignal.abort() }).catch(({ name }) => name)
    const notJson = await topics.set('web/n', { a: [NaN] }).catch(({ message }) => message)
    await topics.set('web/n', { digits: 12345678901234567890n })
    const { text: digits, value } = { ...(await topics.get('web/n')) }
    return { texts, refused, aborted, notJson, digits, isSpread: value !== undefined, none: (await topics.get('web/none')) === undefined }`,
  )
  t.strictSame(found, {
    texts: ['web/a.b', '1.10', 'web/n', '1'],
    refused: [true, 'no_such_topic'],
    aborted: 'AbortError',
    notJson: 'value.a[0] is NaN, which JSON cannot hold',
    digits: '{"digits":12345678901234567890}',
    isSpread: true,
    none: true,
  })
})

t.test('a lost connection causes a TypeError, for a fetch only after one retry', { skip }, async (t) => {
  const site = await openSite(t)
  const lose = async (request: string): Promise<number> => {
    site.requests = 0
    t.equal(await run(site.page, site.origin, 'k', `return ${request}.catch(({ name }) => name)`), 'TypeError', request)
    return site.requests
  }
  const batch = `topics.batch([{ op: 'add', path: 'a' }])`
  // The page's kept-alive connections are still open.
  t.ok((await lose(batch)) > 1, 'Chromium itself repeats any request whose kept-alive connection is closed')
  t.equal(await lose(batch), 1, 'on a new connection, a batch is sent once')
  t.equal(await lose(`topics.get('a')`), 2, 'a fetch is sent twice')
})
