/**
 * Headless Chromium with a fresh profile for each test, and a small server for the test's own pages. Playwright only drives the browser,
 * which is the system's; nothing is downloaded.
 */
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Browser, chromium } from 'playwright-core'
import type { Test } from 'tap'

/** The path at which Debian's package installs Chromium. */
const executablePath = '/usr/bin/chromium'

/** `--no-sandbox`: tests may run as root. The other flags keep the browser from contacting its vendor and from changing protocols. */
const args: string[] = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
]

/** Why this machine cannot run a page in a browser; false if it can. */
export function whyNoBrowser(): string | false {
  return existsSync(executablePath) ? false : `${executablePath} is not installed: real pages were NOT tested`
}

/** Starts the browser and closes it when the test ends. */
export async function startBrowser(t: Test): Promise<Browser> {
  const browser = await chromium.launch({ executablePath, args, headless: true })
  t.teardown(() => browser.close())
  return browser
}

/** Serves an HTML document at every path, on 127.0.0.1, until the test ends. @returns its port */
export async function servePage(t: Test, html: string | (() => string)): Promise<number> {
  const server = createServer((_, res) => {
    res.setHeader('content-type', 'text/html; charset=utf-8').end(typeof html === 'string' ? html : html())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))
  return (server.address() as AddressInfo).port
}
