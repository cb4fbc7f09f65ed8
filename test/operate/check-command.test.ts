/** `topicd check --json`: output for programs. */
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../support/server.js'

t.test('check --json prints a line of JSON for each finding and one for the totals', async (t) => {
  const data = join(t.testdir(), 'db')
  const imported = await runCommand(['import', '--data', data], {}, '{"path":"a","type":"json","value":1}\n')
  t.equal(imported.code, 0, imported.stderr)
  const { code, stdout } = await runCommand(['check', '--json', '--data', data])
  t.equal(code, 0)
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  t.match(lines.at(-1), { checked: { records: Number, findings: 0 } })
  t.equal(lines.length, 1)
})
