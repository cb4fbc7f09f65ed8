/**
 * `npm run docs:screenshots`: takes the pictures of the console in docs/images, with a service that has a few topics and some
 * load.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium, type Page } from 'playwright-core'
import { type Client, connect, jsonText } from '../dist/client/index.js'

const root = join(import.meta.dirname, '..')
const images = join(root, 'docs/images')

/** Long enough to fill the charts. */
const loadMs = 20_000

const values: readonly (readonly [path: string, value: string])[] = [
  ['plant/7/temperature', '{"celsius":21.50,"sensor":12345678901234567890,"history":[21.4,21.45,21.50],"ok":true}'],
  ['plant/7/pressure', '1.0130'],
  ['plant/7/door', '"closed"'],
  ['plant/12/temperature', '19.80'],
  ['plant/12/pressure', '1.0127'],
  ['orders/2026/4711', '{"amount":1099.00,"currency":"EUR"}'],
  ['orders/2026/4712', '{"amount":12.50,"currency":"EUR"}'],
  ['weather/lisbon', '{"sky":"clear"}'],
]

async function fill(client: Client): Promise<void> {
  for (const [path, value] of values) {
    await client.addAndSet(path, jsonText(value), { properties: { REMOVAL: 'when no updates for 30d' } })
  }
}

/** Sends requests of all kinds until `endMs`, in waves, so that the charts have a shape. */
async function load(client: Client, endMs: number): Promise<void> {
  const lane = async (number: number): Promise<void> => {
    for (let i = 0; performance.now() < endMs; i++) {
      await client.addAndSet(`load/${number}/${i % 500}`, i)
      await client.get('plant/7/temperature')
      if (i % 7 === 0) await client.page('?load/.*/1.*', { size: 50 })
      if (i % 97 === 0) await client.set('none/such', 1).catch(() => {})
      await sleep(2 + 12 * (1 + Math.sin(performance.now() / 4000)))
    }
  }
  await Promise.all(Array.from({ length: 12 }, (_, number) => lane(number)))
}

async function showTopics(page: Page, url: string, token: string): Promise<void> {
  await page.goto(`${url}/console#plant%2F7%2Ftemperature`)
  await page.getByLabel('API key').fill(token)
  await page.keyboard.press('Enter')
  await page.locator('pre.value').waitFor()
  await page.getByRole('treeitem', { name: '12', exact: true }).locator('.toggle').click()
  await page.getByRole('treeitem', { name: 'pressure' }).nth(1).waitFor()
}

const directory = mkdtempSync(join(tmpdir(), 'topicd-screenshots-'))
const ports = ['--port', '0', '--admin-port', '0', '--workers', '2']
const program = [join(root, 'dist/main.js'), 'serve', '--data', directory, ...ports, '--first-key']
// Without the settings of a developer's shell.
const service = spawn(process.execPath, program, { env: {}, stdio: ['ignore', 'pipe', 'inherit'] })
// Debian's Chromium; without its sandbox, root may run it.
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
try {
  let [url, adminUrl, token] = ['', '', '']
  for await (const line of createInterface({ input: service.stdout })) {
    if (line.startsWith('{')) ({ url = url, adminUrl = adminUrl } = JSON.parse(line) as Record<string, string>)
    token = /Apikey ([\w-]+)/.exec(line)?.[1] ?? token
    if (token !== '') break
  }
  await sleep(1000)
  const client = connect(url, { key: token })
  await fill(client)
  const pages = await Promise.all(
    (['light', 'dark'] as const).map(async (colorScheme) => {
      const context = await browser.newContext({ colorScheme, viewport: { width: 1200, height: 900 } })
      const service = await context.newPage()
      await service.goto(`${adminUrl}/`)
      return { colorScheme, context, service }
    }),
  )
  await load(client, performance.now() + loadMs)
  mkdirSync(images, { recursive: true })
  for (const { colorScheme, context, service } of pages) {
    const topics = await context.newPage()
    await service.screenshot({ path: join(images, `console-service-${colorScheme}.png`), fullPage: true })
    await showTopics(topics, url, token)
    await topics.screenshot({ path: join(images, `console-topics-${colorScheme}.png`) })
  }
} finally {
  await browser.close()
  service.kill()
  rmSync(directory, { recursive: true, force: true })
}
