/** The page of the topics in headless Chromium: what it proposes for the wildcards of MQTT, globs and LIKE. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import { addTopic, checkAccessibility, isClean, openConsole } from '../support/browser/console.js'
import { startServer } from '../support/service/server.js'

t.setTimeout(600_000)

const skip = whyNoBrowser()

const goTo = (page: Page, hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`)

await t.test('wildcards of MQTT, globs and LIKE are explained where they match nothing', { skip }, async (t) => {
  const server = await startServer(t)
  for (const path of ['plant', 'plant/7/temp', 'odd/#']) await addTopic(server, path, '1')
  const watched = await openConsole(await startBrowser(t), server)
  const { page } = watched
  const proposal = page.getByText('Wildcards are written differently in a selector.')
  for (const [selector, meant, first] of [
    ['plant/#', '?plant//', 'plant'],
    ['plant/+/temp', '?plant/.*/temp', 'plant/7/temp'],
    ['plant/*/*', '?plant/.*/.*', 'plant/7/temp'],
    // These two are refused.
    ['#', '?.*//', 'odd/#'],
    ['%temp', '*.*temp', 'plant/7/temp'],
  ] as const) {
    await page.getByLabel('Selector').fill(selector)
    await page.getByRole('button', { name: 'Find', exact: true }).click()
    await proposal.waitFor()
    await proposal.getByRole('link', { name: meant, exact: true }).click()
    await page.locator('.matches a').first().waitFor()
    t.equal(await page.locator('.matches a').first().textContent(), first, selector)
    t.equal(await page.getByLabel('Selector').inputValue(), meant, 'the box shows what is found')
    t.equal(await proposal.count(), 0)
  }
  for (const [selector, text] of [
    ['odd/#', 'Page 1, 1 topic, the last'],
    ['plant/none', 'Nothing matches.'],
  ] as const) {
    await goTo(page, `#?${encodeURIComponent(selector)}`)
    await page.getByText(text).waitFor()
    t.equal(await proposal.count(), 0, `${selector} needs no explanation`)
  }
  await goTo(page, '#?plant%2F%2B')
  await proposal.waitFor()
  await checkAccessibility(t, page, 'a proposal')
  isClean(t, server, watched)
})
