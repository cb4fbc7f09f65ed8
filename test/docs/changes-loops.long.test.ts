/** The loops of docs/changes.md, in Python and JavaScript, run verbatim: each follows a subtree. */
import { strict as assert } from 'node:assert'
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { blocksOf, readDocument, sectionOf } from '../support/documents.js'
import { only } from '../support/elements.js'
import { Publisher } from '../support/publishers.js'
import { startServer, until } from '../support/service/server.js'

t.setTimeout(600_000)

const { status } = spawnSync('python3', ['-c', 'import requests'])
const server = await startServer(t)

for (const [kind, program, given, skip] of [
  ['python', ['python3', '-c'], 'url, key = ', status !== 0 && 'requests is not installed: its loop was NOT tested'],
  ['js', [process.execPath, '--input-type=module', '-e'], 'const [url, key] = ', false],
] as const) {
  t.test(`the loop in ${kind} shows the number of topics after each change`, { skip }, async (t) => {
    await server.post('addAndSet', { path: 'plant/0', value: 0 })
    const { text } = only(blocksOf(sectionOf(readDocument('docs/changes.md'), 'the-loop'), kind))
    const loop = Publisher.start(t, [...program, `${given}${JSON.stringify([server.url, server.token])}\n${text}`], {})
    const shows = (count: number): Promise<boolean> =>
      until(`the loop shows ${count}`, async () => {
        assert(!loop.hasEnded, loop.errors)
        return loop.output.trim().split('\n').at(-1) === String(count) || undefined
      })
    await shows(1)
    for (let i = 1; i < 5; i++) {
      await server.post('addAndSet', { path: `plant/${i}`, value: i })
      await shows(i + 1)
    }
    await server.post('remove', { selector: '?plant/[0-2]' })
    await shows(2)
    t.pass('the loop follows additions and removals')
    await server.post('remove', { selector: '?plant/' })
  })
}
