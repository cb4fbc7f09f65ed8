/**
 * Follows docs/tutorial.md step by step: its programs in Python, and its page in Chromium. Only addresses and tokens differ.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { servePage, startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import { blocksOf, readDocument, root, sectionOf } from '../support/documents.js'
import { first } from '../support/elements.js'
import { missing } from '../support/installed.js'
import { cleanEnv, runCommand, type Server, startServer } from '../support/service/server.js'
import { tied } from '../support/tied.js'

t.setTimeout(600_000)

const skip = whyNoBrowser() || missing('python3', '--version')

/** The first block of one kind in a section. */
function block(section: string, kind: string): string {
  return first(blocksOf(sectionOf(readDocument('docs/tutorial.md'), section), kind)).text
}

/** Runs a program of the tutorial until it exits or the test ends. */
function startPython(t: Test, section: string, server: Server) {
  // On a slow machine, the page would miss a topic that exists for only five seconds.
  const program = block(section, 'python').replaceAll('http://127.0.0.1:8080', server.url).replace('"5s"', '"20s"')
  const env = { ...cleanEnv(), PYTHONPATH: join(root, 'clients/python'), KEY: server.token }
  const child = spawn(...tied('python3', ['-c', program]), { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  return child
}

async function printed(t: Test, section: string, server: Server): Promise<string> {
  const child = startPython(t, section, server)
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  t.equal(code, 0, `the program of "${section}" exits cleanly`)
  return output
}

/** Adds the page's key with the command of the tutorial. @returns its token */
async function addPageKey(t: Test, server: Server): Promise<string> {
  const [, ...words] = block('a-restricted-key', 'console').split(' ')
  const { code, stdout } = await runCommand([...words, '--data', server.dataDir])
  t.equal(code, 0, 'the key is created')
  return stdout.trim()
}

const lines = (page: Page): Promise<readonly string[]> => page.locator('#list li').allTextContents()

await t.test('every step of the tutorial works', { skip }, async (t) => {
  let html = ''
  const port = await servePage(t, () => html)
  const server = await startServer(t, { flags: ['--cors-origins', `http://localhost:${port}`] })
  const publisher = startPython(t, 'a-publisher', server)
  const token = await addPageKey(t, server)
  html = block('a-live-page', 'html').replaceAll('http://127.0.0.1:8080', server.url).replace('topicd_…', token)
  t.ok(html.split('\n').length <= 18, 'the page has at most 18 lines')

  const page = await (await startBrowser(t)).newPage()
  await page.goto(`http://localhost:${port}`)
  await page.locator('#list li').nth(2).waitFor()
  const before = (await lines(page)).join()
  t.match(before, /plant\/1\/temp: 2\d/, 'the page shows the values of the publisher')
  await page.waitForFunction(`document.getElementById('list').innerText !== ${JSON.stringify(before)}`)
  publisher.kill()

  await printed(t, 'a-value-that-expires', server)
  const alive = page.locator('#list li', { hasText: 'plant/1/alive: true' })
  await alive.waitFor()
  await alive.waitFor({ state: 'detached', timeout: 120_000 })
  t.equal(await printed(t, 'a-counter', server), '10\n')
  await page.locator('#list li', { hasText: 'plant/parts: 10' }).waitFor()
})
