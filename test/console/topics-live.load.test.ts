/** The page of the topics in headless Chromium: what changes is shown by itself, and an idle page asks for nothing. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import { addTopic, checkAccessibility, isClean, openConsole, openWatched, signIn } from '../support/browser/console.js'
import { FaultProxy } from '../support/faults/fault-proxy.js'
import { startServer, until } from '../support/service/server.js'

t.setTimeout(360_000)

const skip = whyNoBrowser()

/** An idle page sends nothing for so long, in ms: one that asks again and again would ask some times. */
const idleMs = 4000

await t.test('the screen follows the topics, without asking again and again', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'a/b', '1')
  const opened = await openConsole(await startBrowser(t), server)
  const { page } = opened
  let fetches = 0
  let lastMs = Date.now()
  page.on('request', (request) => {
    if (!request.url().endsWith('/topics/fetch')) return
    fetches++
    lastMs = Date.now()
  })
  await page.evaluate(`location.hash = '#a%2Fb'`)
  await page.locator('.value', { hasText: /^1$/ }).waitFor()
  await until('the page is idle', async () => (Date.now() - lastMs > idleMs ? true : undefined))
  const before = fetches
  await server.post('set', { path: 'a/b', value: 2 })
  await page.locator('.value.changed', { hasText: /^2$/ }).waitFor()
  t.ok(fetches > before, 'it asked when there was something')
  await page.locator('.value.changed').waitFor({ state: 'detached' })
  await server.post('add', { path: 'c' })
  await page.getByRole('link', { name: 'c', exact: true }).waitFor()
  t.pass('a new topic is in the tree')
  await page.evaluate(`location.hash = '#?*.*'`)
  await page.locator('.matches tbody tr').nth(1).waitFor()
  await server.post('set', { path: 'a/b', value: 'marked' })
  await page.locator('.matches tr.changed', { hasText: 'marked' }).waitFor()
  t.pass('a changed result is marked')
  isClean(t, server, opened)
})

/** How many bytes the page has been sent since. */
async function countBytes(page: Page): Promise<() => number> {
  let bytes = 0
  const session = await page.context().newCDPSession(page)
  session.on('Network.dataReceived', ({ dataLength }) => (bytes += dataLength))
  await session.send('Network.enable')
  return () => bytes
}

await t.test('a new topic in each of many open branches is shown', { skip }, async (t) => {
  const server = await startServer(t)
  const branches = Array.from({ length: 18 }, (_, i) => `b${10 + i}`)
  for (const branch of branches) await addTopic(server, `${branch}/old`, '1')
  const { page } = await openConsole(await startBrowser(t), server)
  for (const branch of branches) await page.getByRole('button', { name: `Below ${branch}` }).click()
  await page.getByRole('link', { name: 'old', exact: true }).nth(17).waitFor()
  const operations = branches.map((branch) => ({ op: 'add', path: `${branch}/new` }))
  t.equal((await server.post('batch', { operations })).status, 200)
  const count = () => page.getByRole('link', { name: 'new', exact: true }).count()
  await until('all are shown', async () => (await count()) === 18 || undefined)
})

await t.test('a large value that stays as it is is sent once, alone and among the matches', { skip }, async (t) => {
  const server = await startServer(t)
  const large = 936_000
  await addTopic(server, 'large', `"${'x'.repeat(large)}"`)
  const { page } = await openConsole(await startBrowser(t), server)
  await page.getByRole('link', { name: 'large', exact: true }).waitFor()
  for (const [hash, what] of [
    ['#large', 'alone'],
    ['#?*.*', 'among the matches'],
  ] as const) {
    const bytes = await countBytes(page)
    await page.evaluate(`location.hash = '${hash}'`)
    await page.locator('pre.value, .matches').filter({ hasText: 'xxx' }).waitFor()
    // The tree is refreshed in turn with what is shown.
    for (let i = 0; i < 4; i++) {
      await addTopic(server, `${what}-${i}`, '1')
      await page
        .getByRole('navigation')
        .getByRole('link', { name: `${what}-${i}` })
        .waitFor()
    }
    t.ok(bytes() > large && bytes() < 1.5 * large, `${what}: ${bytes()} bytes`)
  }
})

await t.test('many changes at once are drawn once a frame, whether or not someone looks', { skip }, async (t) => {
  const server = await startServer(t)
  const { page } = await openConsole(await startBrowser(t), server)
  await page.evaluate(`location.hash = '#=?.*//'`)
  await page.getByText('Nothing has changed yet.').waitFor()
  await addTopic(server, 'first', '1')
  await page.locator('.changes tbody tr').waitFor()
  const write = async (round: number): Promise<void> => {
    const operations = Array.from({ length: 1000 }, (_, i) => ({ op: 'add', path: `many/${round}/${1000 + i}` }))
    t.equal((await server.post('batch', { operations })).status, 200)
    await page.getByRole('cell', { name: `many/${round}/1999`, exact: true }).waitFor()
  }
  await page.evaluate(`(() => {
    window.counts = { draws: 0, frames: 0, longestMs: 0 }
    let lastMs = performance.now()
    new MutationObserver(() => counts.draws++).observe(document.querySelector('main'), { childList: true, subtree: true })
    requestAnimationFrame(function frame(nowMs) {
      counts.frames++
      counts.longestMs = Math.max(counts.longestMs, nowMs - lastMs)
      lastMs = nowMs
      requestAnimationFrame(frame)
    })
  })()`)
  for (let round = 0; round < 5; round++) await write(round)
  // What a full draw takes here, at least.
  const drawMs = await page.evaluate<number>(`(() => {
    const [startMs, table] = [performance.now(), document.querySelector('.changes')]
    const copy = table.parentNode.appendChild(table.cloneNode(true))
    copy.getBoundingClientRect()
    copy.remove()
    return performance.now() - startMs
  })()`)
  const { draws, frames, longestMs } =
    await page.evaluate<Readonly<Record<'draws' | 'frames' | 'longestMs', number>>>('counts')
  t.ok(draws <= frames + 2, `${draws} draws in ${frames} frames`)
  t.ok(longestMs < Math.max(300, 30 * drawMs), `${longestMs} ms at most, where a draw takes ${drawMs} ms`)
  t.equal(await page.locator('.changes tbody tr').count(), 200)

  await page.evaluate(`Object.defineProperty(document, 'hidden', { value: true }); counts.draws = 0`)
  const startMs = Date.now()
  await write(5)
  const seconds = (Date.now() - startMs) / 1000
  const hidden = await page.evaluate<number>('counts.draws')
  t.ok(hidden <= seconds + 2, `${hidden} draws of a hidden page in ${seconds} s`)
})

await t.test('an outage is said wherever someone looks, and forgotten when it is over', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'a/b', '1')
  const proxy = await FaultProxy.start(t, server.url)
  const { port } = new URL(proxy.addressOf(server.url))
  const { page } = await openWatched(await startBrowser(t), `http://127.0.0.1:${port}/console`)
  await signIn(page, server.token)
  let attempts = 0
  page.on('requestfailed', (request) => request.url().endsWith('/topics/changes') && attempts++)
  const said = page.getByRole('alert').filter({ hasText: /^Not connected since \d\d:\d\d:\d\d, retrying$/ })
  for (const [hash, shown] of [
    ['', 'Choose a topic, or search.'],
    ['#a%2Fb', 'Type json'],
    ['#?*a//', 'Page 1, 1 topic, the last'],
    ['#=*a//', 'Nothing has changed yet.'],
  ] as const) {
    await page.evaluate(`location.hash = '${hash}'`)
    await page.getByText(shown).waitFor()
    t.equal(await said.count(), 0, `connected: ${shown}`)
    const lostMs = Date.now()
    proxy.set('refuse')
    await said.waitFor()
    t.comment(`${shown} said after ${Date.now() - lostMs} ms`)
    if (hash.startsWith('#=')) {
      t.equal(await page.getByText(shown).count(), 0, 'nobody knows whether something has changed')
      // Attempts whose waits double would take minutes.
      const before = attempts
      await until('twenty attempts', async () => attempts >= before + 20 || undefined)
    }
    await addTopic(server, 'a/b', JSON.stringify(shown))
    const backMs = Date.now()
    proxy.set('pass')
    await said.waitFor({ state: 'detached' })
    const tookMs = Date.now() - backMs
    t.ok(tookMs < 10_000, `forgotten after ${tookMs} ms`)
    if (hash !== '') await page.getByText(JSON.stringify(shown)).waitFor()
  }
})

await t.test('changes are listed as they happen, the newest first, until they are paused', { skip }, async (t) => {
  const server = await startServer(t)
  await addTopic(server, 'a/b', '1')
  const opened = await openConsole(await startBrowser(t), server)
  const { page } = opened
  await page.evaluate(`location.hash = '#?*a//'`)
  await page.getByRole('link', { name: 'Changes' }).click()
  await page.getByRole('heading', { name: 'Changes of *a//' }).waitFor()
  await page.getByText('Nothing has changed yet.').waitFor()
  await server.post('set', { path: 'a/b', value: 2 })
  await page.locator('.changes tbody tr').waitFor()
  await server.post('addAndSet', { path: 'a/c', value: '<b>text</b>' })
  await page.locator('.changes tbody tr').first().getByText('<b>text</b>').waitFor()
  await server.post('remove', { path: 'a/c' })
  await page.locator('.changes tbody tr').first().getByText('removed').waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  const count = await page.locator('.changes tbody tr').count()
  await server.post('addAndSet', { path: 'a/d', value: 'in the pause' })
  await page.getByText('Paused').waitFor()
  t.equal(await page.locator('.changes tbody tr').count(), count, 'nothing is added in a pause')
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.locator('.changes tbody tr').first().getByText('in the pause').waitFor()
  t.pass('what changed in the pause is listed after it')
  await checkAccessibility(t, page, 'the changes')
  await page.getByRole('link', { name: 'Show the topics' }).click()
  await page.getByText('Page 1,').waitFor()
  isClean(t, server, opened)
})
