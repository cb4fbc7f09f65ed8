/** `topicd check --json`: output for programs. And a check with more findings than fit into the connection at once. */
import { join } from 'node:path'
import t from 'tap'
import type { Path } from '../../dist/topics/path.js'
import { runCommand } from '../support/service/server.js'
import { inside } from '../support/stores/environment.js'
import { makeDirectory } from '../support/stores/store.js'

t.test('check --json prints a line of JSON for each finding and one for the totals', async (t) => {
  const data = join(t.testdir(), 'db')
  const topics = ['a', 'b', 'c'].map((path) => `{"path":"${path}","type":"json","value":1}\n`)
  const imported = await runCommand(['import', '--allow-unfinished', '--data', data], {}, topics.join(''))
  t.equal(imported.code, 0, imported.stderr)
  const check = async (): Promise<{ code: number | null; lines: Record<string, unknown>[] }> => {
    const { code, stdout } = await runCommand(['check', '--json', '--data', data])
    const lines = stdout.trimEnd().split('\n')
    return { code, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) }
  }
  const sound = await check()
  t.equal(sound.code, 0)
  // With LMDB, two records per topic, as docs/backup.md explains.
  t.match(sound.lines, [{ checked: { records: 2 * topics.length, findings: 0 } }])
  t.equal(sound.lines.length, 1)

  t.strictSame(await runCommand(['check', '--data', data]), { code: 0, stdout: 'checked, 0 findings\n', stderr: '' })

  await inside(data, ({ items }) => Promise.all(['a', 'b'].map((path) => items.json.remove(path as Path))))
  const damaged = await check()
  t.equal(damaged.code, 1)
  t.match(damaged.lines, [{ finding: /"a"/ }, { finding: /"b"/ }, { checked: { records: 4, findings: 2 } }])
  t.equal(damaged.lines.length, 3)
})

t.test('a check with thousands of findings prints only the findings', async (t) => {
  const data = join(t.testdir(), 'db')
  const paths = Array.from({ length: 5000 }, (_, number) => `t/${number}`)
  await makeDirectory(data, paths)
  await inside(data, ({ items }) => Promise.all(paths.map((path) => items.json.remove(path as Path))))
  const { code, stdout, stderr } = await runCommand(['check', '--data', data])
  t.match({ code, stderr }, { code: 1, stderr: '' })
  t.match(stdout, /^checked, 5000 findings$/m)
})
