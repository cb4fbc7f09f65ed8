/** The loops of docs/changes.md, in Python and JavaScript, as they stand there: each follows a subtree. */
import { strict as assert } from 'node:assert'
import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import t from 'tap'
import { blocksOf, readDocument, sectionOf } from '../support/documents.js'
import { startServer, until } from '../support/service/server.js'
import { tied } from '../support/tied.js'

t.setTimeout(600_000)

/** The only block of a kind, with the service and the key before it. */
function loopOf(kind: 'python' | 'js', url: string, key: string): string {
  const [block, ...others] = blocksOf(sectionOf(readDocument('docs/changes.md'), 'The loop'), kind)
  assert(block !== undefined && others.length === 0, `the section has one block of ${kind}`)
  const [a, b] = [JSON.stringify(url), JSON.stringify(key)]
  return `${kind === 'js' ? `const url = ${a}, key = ${b}` : `url, key = ${a}, ${b}`}\n${block.text}`
}

const { status } = spawnSync('python3', ['-c', 'import requests'])

for (const [kind, program, skip] of [
  ['python', ['python3', '-c'], status !== 0 && 'requests for Python is not installed: its loop was NOT tested'],
  ['js', [process.execPath, '--input-type=module', '-e'], false],
] as const) {
  t.test(`the loop in ${kind} shows how many topics there are, after each change`, { skip }, async (t) => {
    const server = await startServer(t, { workers: 2 })
    await server.post('addAndSet', { path: 'plant/0', value: 0 })
    const [command, ...args] = program
    const child = spawn(...tied(command, [...args, loopOf(kind, server.url, server.token)]), { stdio: 'pipe' })
    t.teardown(() => child.kill('SIGKILL'))
    let errors = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
    let last = ''
    createInterface({ input: child.stdout }).on('line', (line) => (last = line))
    const shows = (count: number): Promise<boolean> =>
      until(`it shows ${count}`, async () => {
        if (child.exitCode !== null) throw new Error(errors)
        return last === String(count) ? true : undefined
      })
    await shows(1)
    for (let i = 1; i < 5; i++) {
      await server.post('addAndSet', { path: `plant/${i}`, value: i })
      await shows(i + 1)
    }
    await server.post('remove', { selector: '?plant/[0-2]' })
    await shows(2)
    t.pass('it follows additions and removals')
  })
}
