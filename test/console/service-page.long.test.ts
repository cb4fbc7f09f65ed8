/** The Service page in headless Chromium, for a service that works, stalls and stops. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { version } from '../../dist/base/version.js'
import type { ConsoleState } from '../../dist/ops/figures/console-state.js'
import { startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import { checkAccessibility, openWatched, type Watched } from '../support/browser/console.js'
import { first } from '../support/elements.js'
import { Relay } from '../support/service/relay.js'
import { startServer, until } from '../support/service/server.js'

t.setTimeout(600_000)

const skip = whyNoBrowser()
const directory = t.testdir()
const server = await startServer(t, { workers: 2, dataDir: join(directory, 'db'), check: false })
/** Undefined if every test is skipped. */
const browser = skip ? (undefined as never) : await startBrowser(t)

t.beforeEach(async () => {
  for (const context of skip ? [] : browser.contexts()) await context.close()
})

async function openPage(): Promise<Watched> {
  const watched = await openWatched(browser, `${server.adminUrl}/`)
  await watched.page.getByText('Ready', { exact: true }).waitFor()
  return watched
}

/** Matches the browser's own log of requests to a stopped service. */
const expected = /^Failed to load resource: net::ERR_/

function isClean(t: Test, { complaints, origins }: Watched): void {
  t.strictSame(
    complaints.filter((text) => !expected.test(text)),
    [],
    'no error in the console',
  )
  t.strictSame([...origins], [server.adminUrl], 'no request to another origin')
}

const panel = (page: Page, title: string) => page.getByRole('region', { name: title, exact: true })

/** The value next to a name. */
async function shown(page: Page, title: string, name: string): Promise<string> {
  const value = panel(page, title).locator('div', { has: page.getByText(name, { exact: true }) })
  return (await value.locator('dd').textContent()) ?? ''
}

/** The shown value as a number; NaN if there is no number. */
async function figure(page: Page, title: string, name: string): Promise<number> {
  return Number.parseFloat((await shown(page, title, name)).replaceAll(',', ''))
}

/** The number of pixels of a chart that have about this colour of the style sheet. */
function pixelsOf(page: Page, title: string, colour: number | 'text'): Promise<number> {
  return page.evaluate<number>(`(() => {
    const panel = [...document.querySelectorAll('section')].find((of) => of.textContent.includes('${title}'))
    const canvas = panel.querySelector('canvas')
    const hex = getComputedStyle(document.documentElement).getPropertyValue('--${colour === 'text' ? 'text' : `chart-${colour}`}').trim()
    const wanted = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16))
    // Reads a copy, because the browser complains if a canvas without willReadFrequently is read often.
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true })
    copy.drawImage(canvas, 0, 0)
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height)
    let count = 0
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] > 200 && wanted.every((part, i) => Math.abs(data[at + i] - part) < 24)) count++
    }
    return count
  })()`)
}

const groups = ['At a glance', 'Traffic', 'Writes', 'Memory and disk', 'Workers']

const tables = ['Requests by key', 'Rejections']

const panels = [
  ...['Requests', 'Requests by route', 'Latency', 'Connections', 'Streams and polls', ...tables],
  ...['Commit time', 'Writes per commit', 'Writes in flight', 'Memory', 'Free disk space'],
  ...['Memory per worker', 'Event-loop delay'],
]

const charts = panels.length - tables.length

await t.test('a first visit makes five requests, and later updates request only new samples', { skip }, async (t) => {
  const paths: string[] = []
  const relay = await Relay.open(t, Number(new URL(server.adminUrl).port), (bytes, to, ends) => {
    paths.push(...(bytes.toString('latin1').match(/(?<=^GET )\S+/gm) ?? []))
    ends[to].write(bytes)
  })
  await openWatched(browser, `${relay.url}/`)
  const states = () => paths.filter((path) => path.startsWith('/console/state?since='))
  await until('three readings', async () => states().length >= 3 || undefined)
  t.equal(paths.length - states().length, 4, paths.join())
  t.equal(new Set(states()).size, states().length)
  t.ok(relay.connections <= 2, `${relay.connections} connections`)
})

await t.test('a first visit shows the service in any colour scheme and width', { skip }, async (t) => {
  await server.post('addAndSet', { path: 'secret/path', value: 'secret value' })
  const watched = await openPage()
  const { page } = watched
  t.equal(await page.title(), `Ready – ${new URL(server.adminUrl).host} – topicd`)
  t.strictSame(await page.getByRole('heading', { level: 2 }).allTextContents(), groups)
  t.strictSame(await page.getByRole('heading', { level: 3 }).allTextContents(), panels)
  t.equal(await shown(page, 'At a glance', 'Version'), version)
  t.equal(await shown(page, 'At a glance', 'Node.js'), process.versions.node)
  t.equal(await shown(page, 'At a glance', 'Workers'), '2')
  t.equal(await shown(page, 'At a glance', 'Worker restarts'), '0')
  // The sample shown first may be older than the topic.
  await until('the topic', async () => (await shown(page, 'At a glance', 'Topics')) === '1' || undefined)
  t.equal(await shown(page, 'At a glance', 'Last reload'), 'none since the start')
  t.equal(await shown(page, 'At a glance', 'Last backup'), 'none yet')
  t.equal(await page.getByText('Certificate').count(), 0)
  for (const pid of server.workerPids()) {
    t.match(await shown(page, 'Memory per worker', `worker ${pid}`), /^[\d.]+ MiB$/)
  }
  t.equal(await shown(page, 'Free disk space', 'minimum for writes'), '256 MiB')
  t.notMatch(await page.content(), /secret/, 'topics are not shown')

  const copied = await server.command('backup', join(directory, 'copy.mdb'))
  t.equal(copied.code, 0, copied.stderr)
  await until(
    'the backup',
    async () => /^\d+ s ago, /.test(await shown(page, 'At a glance', 'Last backup')) || undefined,
  )

  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await until('the chart in this colour', async () => (await pixelsOf(page, 'Memory', 1)) > 20 || undefined)
    for (const width of [1200, 400]) {
      await page.setViewportSize({ width, height: 800 })
      await checkAccessibility(t, page, `${colorScheme}, ${width} px`)
    }
  }
  const widths = await page.evaluate<readonly number[]>(
    '[document.documentElement.scrollWidth, ...[...document.querySelectorAll("section")].map((of) => of.offsetWidth)]',
  )
  t.equal(widths[0], 400, 'nothing is wider than the window')
  t.equal(new Set(widths.slice(1)).size, 1, 'one column')
  const canvas = await panel(page, 'Memory').locator('canvas').boundingBox()
  t.ok(canvas && canvas.width > 300 && canvas.width < 400, `a chart has its width: ${canvas?.width} px`)
  isClean(t, watched)
})

/** Writes, and fetches of missing topics, until `end` is called. */
function load(): { end(): Promise<void> } {
  let working = true
  const clients = Array.from({ length: 4 }, async (_, i) => {
    const client = server.connect()
    while (working) {
      await client.post('addAndSet', { path: `load/${i}`, value: i })
      await client.post('fetch', { path: 'none' })
      await sleep(10)
    }
  })
  return {
    async end() {
      working = false
      await Promise.all(clients)
    },
  }
}

await t.test('the charts follow the load, and screen readers announce only changes of state', { skip }, async (t) => {
  const watched = await openPage()
  const { page } = watched
  await page.evaluate(`window.announced = 0
    new MutationObserver(() => window.announced++).observe(document.querySelector('[role=status]'),
      { subtree: true, childList: true, characterData: true, attributes: true })`)
  await until('no request', async () => (await figure(page, 'Requests', '2xx')) === 0 || undefined)
  const before = await pixelsOf(page, 'Commit time', 1)

  const { end } = load()
  for (const name of ['2xx', '4xx'])
    await until(name, async () => (await figure(page, 'Requests', name)) >= 10 || undefined)
  t.equal(await shown(page, 'Requests', '5xx'), '0/s')
  for (const [title, of] of [
    ['Latency', 'responses'],
    ['Commit time', 'commits'],
  ] as const) {
    for (const name of [`median (p50) of ${of}`, `p99 of ${of}`]) {
      t.match(await shown(page, title, name), /^(< )?[\d.]+ (µs|ms)$/, `${title}, ${name}`)
    }
  }
  t.ok((await figure(page, 'Writes per commit', 'writes')) >= 1)
  t.ok((await figure(page, 'Connections', 'open')) >= 4)
  t.match(await shown(page, 'Connections', 'limit'), /^[\d,]+$/)
  await until('a line', async () => (await pixelsOf(page, 'Commit time', 1)) > before || undefined)

  const box = await panel(page, 'Requests').locator('canvas').boundingBox()
  await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) - 40, (box?.y ?? 0) + 40)
  await panel(page, 'Memory')
    .getByText(/^at \d\d:\d\d:\d\d$/)
    .waitFor()
  t.equal(await page.getByText(/^at \d\d:\d\d:\d\d$/).count(), charts, 'every chart shows the same moment')
  await page.mouse.move(1, 1)
  await panel(page, 'Memory').getByText('resident, total of all').waitFor()

  await end()
  await until('no request again', async () => (await figure(page, 'Requests', '2xx')) === 0 || undefined)
  t.equal(await page.evaluate('window.announced'), 0, 'no refresh was announced')
  isClean(t, watched)
})

await t.test('the samples in the charts can be selected by keyboard and saved as CSV', { skip }, async (t) => {
  const state = async () => (await (await fetch(`${server.adminUrl}/console/state`)).json()) as ConsoleState
  const kept = async () => (await state()).moments.length
  const before = await kept()
  await until('three more samples', async () => {
    await server.post('addAndSet', { path: 'kept', value: 1 })
    return (await kept()) >= before + 3 || undefined
  })
  const watched = await openPage()
  const { page } = watched
  const slider = page.getByRole('slider', { name: 'Time' })
  const last = async (): Promise<number> => Number(await slider.getAttribute('max'))
  const marked = (): Promise<number> => pixelsOf(page, 'Requests', 'text')
  const opened = await last()
  t.ok(opened >= 3, 'immediately')
  t.equal(await slider.getAttribute('aria-valuetext'), 'now')
  const unmarked = await marked()
  await slider.focus()
  await page.keyboard.press('Home')
  const time = (await slider.getAttribute('aria-valuetext')) ?? ''
  t.match(time, /^\d\d:\d\d:\d\d$/)
  t.equal(await page.getByText(`at ${time}`).count(), charts, 'every chart shows the selected time')
  t.equal(await shown(page, 'Requests', '2xx'), '–', 'the first reading has no rate')
  t.ok((await marked()) > unmarked + 50, 'and the chart marks it')
  await until('two more moments', async () => (await last()) >= opened + 2 || undefined)
  t.equal(await slider.getAttribute('aria-valuetext'), time, 'the selected time stays')
  await checkAccessibility(t, page, 'another moment')
  await until('a rate from before the page was opened', async () => {
    await page.keyboard.press('ArrowRight')
    return (await figure(page, 'Requests', '2xx')) > 0 || undefined
  })
  t.not(await slider.getAttribute('aria-valuetext'), time)
  t.match(await shown(page, 'Latency', 'p99 of responses'), /s$/)
  t.match(await shown(page, 'Memory per worker', `worker ${first(server.workerPids())}`), /MiB$/)
  t.equal(await shown(page, 'At a glance', 'Version'), version, 'a fact without history is current')
  await page.keyboard.press('End')
  t.equal(await slider.getAttribute('aria-valuetext'), 'now')

  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download CSV' }).click()
  const download = await downloading
  t.match(download.suggestedFilename(), /^service-\d{8}-\d{6}\.csv$/)
  const file = join(directory, 'points.csv')
  await download.saveAs(file)
  const lines = readFileSync(file, 'utf8').split('\r\n')
  t.match(lines[0], /^Time,Requests: 2xx,Requests: 4xx,/)
  t.match(lines[1], /^\d{4}-\d\d-\d\dT/)
  t.ok(lines.length > 4, `${lines.length} lines`)
  t.equal(await page.getByRole('link', { name: 'Topics' }).getAttribute('href'), `${server.url}/console`)
  isClean(t, watched)
})

await t.test('the tables of keys and rejections show names as plain text', { skip }, async (t) => {
  const watched = await openPage()
  const { page } = watched
  const rowsOf = (title: string) => panel(page, title).locator('tbody tr').allInnerTexts()
  await until('a rejection and a rate', async () => {
    await server.post('set', { path: 'none/such', value: 1 })
    const [refusals, keys] = await Promise.all(['Rejections', 'Requests by key'].map(rowsOf))
    return (/no_such_topic\t\d+/.test(String(refusals)) && /^first\t[\d.]+\/s\t[\d,]+$/.test(String(keys))) || undefined
  })
  const hostile = '<img src=x onerror="alert(1)">\u202e{{key}}'
  await page.route('**/console/state*', async (route) => {
    const response = await route.fetch()
    const use = { perSecond: 1.5, requests: 1000 }
    const hostiles = { keys: [{ key: hostile, ...use }], otherKeys: { count: 9, ...use }, refusals: { [hostile]: 1 } }
    await route.fulfill({ response, json: { ...(await response.json()), ...hostiles } })
  })
  await until('the key', async () => (await rowsOf('Requests by key')).length === 2 || undefined)
  t.strictSame(await rowsOf('Requests by key'), [`${hostile}\t1.5/s\t1,000`, '9 more\t1.5/s\t1,000'])
  t.strictSame(await rowsOf('Rejections'), [`${hostile}\t1`])
  await checkAccessibility(t, page, 'tables')
  await page.unrouteAll({ behavior: 'wait' })
  isClean(t, watched)
})

await t.test('if charts or responses fail, the page shows everything else', { skip }, async (t) => {
  const page = await (await browser.newContext()).newPage()
  await page.addInitScript(`HTMLCanvasElement.prototype.getContext = () => { throw new Error('no canvas') }`)
  await page.goto(`${server.adminUrl}/`)
  await page.getByText('Ready', { exact: true }).waitFor()
  t.match(await page.getByRole('alert').textContent(), /^The charts cannot be drawn: no canvas/)
  await until('a rate', async () => (await figure(page, 'Requests', '2xx')) >= 0 || undefined)
  const status = page.getByRole('status')
  const state = '**/console/state*'
  for (const [answer, text] of [
    [{ status: 500, body: 'the disk' }, '/console/state returned 500: the disk'],
    [{ json: { nowS: 1, runs: [] } }, 'The service and this page have different versions. Reload the page.'],
  ] as const) {
    await page.route(state, (route) => route.fulfill(answer))
    await status.getByText(text).waitFor()
    t.match(await status.textContent(), /^\s*Readiness unknown\s/)
    t.match(await page.getByRole('heading', { level: 2 }).first().textContent(), /^At a glance, as of /)
    await page.unroute(state)
    await until('no reason', async () => (await status.getByRole('listitem').count()) === 0 || undefined)
  }
})

await t.test('a stalled worker makes the service not ready until it resumes', { skip }, async (t) => {
  const watched = await openPage()
  const { page } = watched
  const stalled = first(server.workerPids())
  process.kill(stalled, 'SIGSTOP')
  const status = page.getByRole('status')
  await status.getByText(`worker ${stalled} has been silent for several seconds`).waitFor()
  t.match(await status.textContent(), /^\s*Not ready/)
  t.match(await page.title(), /^Not ready – 127\.0\.0\.1:\d+ – topicd$/)
  await checkAccessibility(t, page, 'not ready')
  process.kill(stalled, 'SIGCONT')
  await status.getByText('Ready', { exact: true }).waitFor()
  t.equal(await status.getByRole('listitem').count(), 0)
  await until('its delay', async () => (await figure(page, 'Event-loop delay', `worker ${stalled}`)) >= 0 || undefined)
  isClean(t, watched)
})

await t.test('charts survive a restart of the service without negative rates', { skip }, async (t) => {
  for (let i = 0; i < 100; i++) await server.post('addAndSet', { path: 'a', value: i })
  const watched = await openPage()
  const { page } = watched
  const rates: string[] = []
  await until('a rate', async () => (await figure(page, 'Requests', '2xx')) >= 0 || undefined)
  await server.stop()
  const status = page.getByRole('status')
  await status.getByText(/^No response since \d\d:\d\d:\d\d$/).waitFor()
  t.match(await status.textContent(), /This page keeps trying/)
  t.equal(await shown(page, 'Memory', 'memory'), '–', 'current values are unknown')
  t.ok((await pixelsOf(page, 'Memory', 1)) > 0, 'the chart is kept')
  const [old = ''] = await page.getByRole('heading', { name: /^At a glance, as of \d\d:\d\d:\d\d$/ }).allTextContents()
  t.equal(await shown(page, old, 'Version'), version)
  await checkAccessibility(t, page, 'no response')

  const { port } = new URL(server.adminUrl)
  await startServer(t, { dataDir: server.dataDir, token: server.token, adminPort: Number(port) })
  await status.getByText('Ready', { exact: true }).waitFor()
  await until('a rate again', async () => {
    rates.push(await shown(page, 'Requests', '2xx'))
    return (await figure(page, 'Requests', '2xx')) >= 0 || undefined
  })
  t.strictSame(
    rates.filter((text) => text.includes('-')),
    [],
  )
  t.match(await shown(page, 'At a glance', 'Started'), /^\d+ s ago/)
  isClean(t, watched)
})
