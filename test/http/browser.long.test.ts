/**
 * A page of another origin in a real browser: it uses the API and reads every response if its origin is allowed; otherwise the
 * browser blocks it. http/cors has the bytes, also for `*` and without the setting.
 */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { servePage, startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import { startServer } from '../support/service/server.js'

t.setTimeout(600_000)

/** A response as the page's script reads it. If `fetch` throws, the script returns the error's name instead. */
interface Read {
  readonly status: number
  readonly text: string
  readonly retryAfter: string | null
}

/** The script of the page: one function that sends a request as any page would. */
const html = `<!doctype html><title>a page</title><script>
async function ask(url, key, body, method = 'POST') {
  const headers = key === null ? {} : { authorization: 'Apikey ' + key, 'content-type': 'application/json' }
  try {
    const answer = await fetch(url, { method, headers, body })
    return { status: answer.status, text: await answer.text(), retryAfter: answer.headers.get('retry-after') }
  } catch (error) {
    return error.name
  }
}
</script>`

/** Has the page's script send a request; the test's process only evaluates an expression. */
function ask(page: Page, ...args: readonly (string | null | undefined)[]): Promise<Read | string> {
  const given = args.map((arg) => (arg === undefined ? 'undefined' : JSON.stringify(arg)))
  return page.evaluate<Read | string>(`ask(${given.join(', ')})`)
}

/** Opens one page at two origins: its server's port under two names. */
async function start(t: Test) {
  const port = await servePage(t, html)
  const browser = await startBrowser(t)
  const open = async (origin: string): Promise<Page> => {
    const page = await browser.newPage()
    await page.goto(`${origin}/`)
    return page
  }
  return { open, here: `http://localhost:${port}`, there: `http://127.0.0.1:${port}` }
}

const skip = whyNoBrowser()

await t.test('a page of an allowed origin can write, read and see every error', { skip }, async (t) => {
  const { open, here } = await start(t)
  const server = await startServer(t, { flags: ['--cors-origins', here] })
  const { url, token } = server
  const page = await open(here)
  const topics = `${url}/topics`
  const read = (status: number, text: string, retryAfter: string | null = null) => ({ status, text, retryAfter })

  const item = '{"path":"web/é","type":"json","value":12345678901234567890}'
  for (const [expectation, route, body, expected] of [
    ['a write, after a preflight', 'addAndSet', item.replace('"type":"json",', ''), '{"path":"web/é","created":true}'],
    ['a fetch', 'fetch', '{"path":"web/é"}', item],
    ['a page of topics', 'fetch', '{"selector":"*web//"}', `{"has_more":false,"results":[${item}]}`],
  ] as const) {
    t.strictSame(await ask(page, `${topics}/${route}`, token, body), read(200, expected), expectation)
  }
  for (const [expectation, status, code, key, body] of [
    ['an unknown key', 401, 'unauthorized', 'unknown', '{"path":"web/é"}'],
    ['no key', 401, 'unauthorized', null, '{"path":"web/é"}'],
    ['other properties', 400, 'incompatible_type', token, '{"path":"web/é","type":"string","value":""}'],
    ['invalid JSON', 400, 'invalid_json', token, '{'],
  ] as const) {
    const answer = await ask(page, `${topics}/set`, key, body)
    t.match(answer, { status, text: new RegExp(`"code":"${code}"`) }, expectation)
  }
  const serving = read(200, '{"status":"serving"}')
  t.strictSame(await ask(page, `${url}/healthz`, null, undefined, 'GET'), serving, 'the page healthz')
  t.strictSame(await ask(page, `${url}/healthz`, token, undefined, 'GET'), serving, 'the same with a preflight')
  t.equal(await ask(page, `${topics}/set`, token, '{}', 'PUT'), 'TypeError', 'a method that no route has')
})

await t.test('a page can read the retry-after header', { skip }, async (t) => {
  const { open, here } = await start(t)
  // Nothing listens on that port, so the keys are unknown.
  const store = 'postgres://127.0.0.1:1/none'
  const away = await startServer(t, { flags: ['--cors-origins', here], store, token: 'none', check: false })
  const answer = await ask(await open(here), `${away.url}/topics/fetch`, 'none', '{"path":"a"}')
  t.match(answer, { status: 503, text: /"code":"store_unavailable"/, retryAfter: '1' })
})

await t.test('the browser blocks requests of a page of any other origin', { skip }, async (t) => {
  const { open, here, there } = await start(t)
  const server = await startServer(t, { flags: ['--cors-origins', here] })
  const page = await open(there)
  const add = `${server.url}/topics/add`
  t.equal(await ask(page, add, server.token, '{"path":"foreign"}'), 'TypeError', 'the preflight fails')
  t.match(await server.post('fetch', { path: 'foreign' }), { code: 'no_such_topic' }, 'nothing was sent')
  const plain = await ask(page, `${server.url}/healthz`, null, undefined, 'GET')
  t.equal(plain, 'TypeError', 'a response without a preflight')
})
