/**
 * How the console's pages are served: from memory, compressed, with ETags and a strict policy. Also the routes `/console/key` and
 * `/console/state`. Other tests use the pages in a browser.
 */
import type { OutgoingHttpHeaders } from 'node:http'
import { basename, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { type Received, sendPieces } from '../support/service/sender.js'
import { startServer } from '../support/service/server.js'

const get = (url: string, headers: OutgoingHttpHeaders = {}, method = 'GET'): Promise<Received> =>
  sendPieces(url, { method, headers })

/** Maximum compressed size of a page with everything that it loads, so that it opens instantly. */
const pageBytesMax = 50_000

/** The paths of the files in a document's links and scripts. */
function filesIn({ bytes }: Received): string[] {
  return [...bytes.toString().matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path = '']) => path)
}

/** Checks the document at `url` and each file that it names. */
async function checkPage(t: Test, page: 'topics' | 'service', url: string): Promise<void> {
  const document = await get(url)
  t.match(document, {
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
  })
  const policy = String(document.headers['content-security-policy'])
  t.match(policy, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
  t.match(policy, "require-trusted-types-for 'script'")
  t.notMatch(policy, /unsafe|\*|https?:|data:/)
  t.notMatch(
    document.bytes.toString(),
    /<script>|<script type="module">| style="| on\w+="|https?:/,
    'nothing is inline or from elsewhere',
  )
  t.equal(document.headers['set-cookie'], undefined, 'no cookie')

  const compressed = await get(url, { 'accept-encoding': 'gzip, br' })
  t.equal(compressed.headers['content-encoding'], 'gzip')
  t.ok(gunzipSync(compressed.bytes).equals(document.bytes))
  const etag = String(document.headers.etag)
  t.not(compressed.headers.etag, etag, 'each encoding has its own ETag')
  for (const known of [etag, `"x", ${etag}`, `W/${etag}`, '*']) {
    const unchanged = await get(url, { 'if-none-match': known })
    t.match(unchanged, { status: 304, headers: { etag } }, known)
    t.equal(unchanged.bytes.length, 0)
  }
  t.equal((await get(url, { 'if-none-match': '"other"' })).status, 200)
  const head = await get(url, {}, 'HEAD')
  t.match(head, { status: 200, headers: { etag, 'content-length': String(document.bytes.length) } })
  for (const refusing of ['gzip;q=0', '*, gzip; Q=0.00', '*;q=0', 'x-gzip', 'identity']) {
    t.equal((await get(url, { 'accept-encoding': refusing })).headers['content-encoding'], undefined, refusing)
  }
  for (const accepting of ['GZIP', '*', 'br;q=1, gzip;q=0.5', 'gzip ; q=0.001']) {
    t.equal((await get(url, { 'accept-encoding': accepting })).headers['content-encoding'], 'gzip', accepting)
  }

  let bytes = compressed.bytes.length
  const files = filesIn(document)
  t.strictSame(
    files.map((file) => basename(file)),
    ['icon.svg', `${page}.css`, `${page}.js`],
  )
  for (const path of files) {
    const file = await get(new URL(path, url).href, { 'accept-encoding': 'gzip' })
    t.match(file, { status: 200, headers: { 'cache-control': 'public, max-age=31536000, immutable' } }, path)
    t.equal(file.headers['x-content-type-options'], 'nosniff')
    const kind = path.endsWith('.js') ? /^text\/javascript/ : path.endsWith('.css') ? /^text\/css/ : /^image\/svg\+xml/
    t.match(String(file.headers['content-type']), kind)
    const text = gunzipSync(file.bytes).toString()
    t.notMatch(text, /\bimport\b|sourceMappingURL/, 'a file names no other file')
    if (path.endsWith('.js')) t.match(text, /@license[\s\S]*BSD-3-Clause/, "the libraries' licences are kept")
    bytes += file.bytes.length
  }
  t.ok(bytes <= pageBytesMax, `${bytes} bytes compressed`)
  const [first = ''] = files
  const old = await get(new URL(first.replace(/[0-9a-f]{16}/, '0'.repeat(16)), url).href)
  t.match(old, { status: 200, headers: { 'cache-control': 'no-store' } }, 'under the hash of another build')
}

const directory = t.testdir()
const server = await startServer(t, { workers: 1, dataDir: join(directory, 'plain') })
const below = await startServer(t, { workers: 2, dataDir: join(directory, 'below'), flags: ['--base-path', '/x/y'] })
const without = await startServer(t, { dataDir: join(directory, 'without'), flags: ['--no-console'] })

await t.test('both pages are small, compressed and cacheable, and have a strict content security policy', async (t) => {
  await checkPage(t, 'topics', `${server.url}/console`)
  await checkPage(t, 'service', `${server.adminUrl}/`)
  for (const [path, status] of [
    ['/console/none.js', 404],
    ['/metrics', 200],
    ['/healthz', 200],
  ] as const) {
    t.match(await get(server.adminUrl + path), { status, headers: { 'x-content-type-options': 'nosniff' } }, path)
  }
  t.notMatch(server.output, /warning/i)
})

await t.test('the Topics page is served below the base path', async (t) => {
  t.match(below.url, /\/x\/y$/)
  await checkPage(t, 'topics', `${below.url}/console`)
  const slash = await get(`${below.url}/console/`)
  t.match(slash, { status: 301, headers: { location: '../console' } })
  for (const path of ['/console/none', '/console/0/console/../../package.json', '/console/0/none.js']) {
    t.match(await get(below.url + path), { status: 404, bytes: /unknown_route/ }, path)
  }
  t.match(await get(`${below.url}/console`, {}, 'POST'), { status: 405, headers: { allow: 'GET, HEAD' } })
})

const key = (token: string) => get(`${server.url}/console/key`, { authorization: `Apikey ${token}` })

await t.test('a key can read its own permissions, but no faster than its rate allows', async (t) => {
  const limited = await server.addKey('limited', { allow: ['fetch', 'set'], under: ['a/b', 'c'] })
  const { status, headers, bytes } = await key(limited)
  t.equal(status, 200)
  t.match(headers, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  t.equal(
    bytes.toString(),
    '{"name":"limited","allow":["fetch","set"],"under":["a/b","c"],"pageSizeMax":1000}',
    "but not the admin listener's address",
  )
  const adminPort = Number(new URL(server.adminUrl).port)
  t.match(JSON.parse((await key(server.token)).bytes.toString()), {
    under: [],
    admin: { host: '127.0.0.1', port: adminPort },
  })
  for (const token of ['none', '']) t.match(await key(token), { status: 401, bytes: /"code":"unauthorized"/ })

  const slow = await server.addKey('slow', { rate: 1 })
  // At least one exceeds the rate, unless sending all of them takes twenty seconds.
  const answers = await Promise.all(Array.from({ length: 20 }, () => key(slow)))
  const [refused] = answers.filter(({ status }) => status !== 200)
  t.match(refused, { status: 429, headers: { 'retry-after': '1' }, bytes: /"code":"too_many_requests"/ })
})

await t.test('the Service page can read its figures and the address of the Topics page', async (t) => {
  const { status, headers, bytes } = await get(`${below.adminUrl}/console/state`)
  t.match({ status, headers }, { status: 200, headers: { 'content-type': 'application/json' } })
  const port = Number(new URL(below.url).port)
  t.match(JSON.parse(bytes.toString()), {
    nowS: Number,
    notReadyReasons: [],
    topicsPage: { scheme: 'http', host: '127.0.0.1', port, path: '/x/y/console' },
    moments: Array,
    runs: [],
  })
})

await t.test("the console's paths return 404 if the console is off", async (t) => {
  for (const path of ['/console', '/console/', '/console/key']) {
    t.match(await get(without.url + path), { status: 404, bytes: /unknown_route/ }, path)
  }
  t.equal((await get(`${without.adminUrl}/`)).status, 200, 'the Service page is still served')
  t.equal(JSON.parse((await get(`${without.adminUrl}/console/state`)).bytes.toString()).topicsPage, undefined)
})
