/**
 * An export ends with a line that marks it as complete. `import` and `check` of a file require that line, so a truncated export is not
 * mistaken for a complete one.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Path } from '../../dist/topics/path.js'
import { runCommand } from '../support/service/server.js'
import { importFrom } from '../support/service/tool-client.js'
import { inside } from '../support/stores/environment.js'

const directory = t.testdir()

const line = (path: string): string => `{"path":"${path}","type":"json","properties":{},"value":1}\n`
const end = (topics: number, keys = 0): string => `{"end":{"topics":${topics},"keys":${keys}}}\n`

const whole = line('a') + line('b') + end(2)
const cut = line('a') + line('b')

let stores = 0
const fresh = (): string => join(directory, `store-${++stores}`)

const imported = (input: string, data: string, ...flags: readonly string[]) =>
  runCommand(['import', ...flags, '--data', data], {}, input)

const exported = async (data: string): Promise<string> => (await runCommand(['export', '--data', data])).stdout

/** An import whose standard input is a plain file. */
function importedFile(content: string, data: string): ReturnType<typeof importFrom> {
  const file = join(directory, 'input.ndjson')
  writeFileSync(file, content)
  return importFrom(file, data)
}

await t.test('an import of a truncated export fails at the end of a pipe, and immediately for a file', async (t) => {
  const data = fresh()
  t.match(await imported(cut, data), {
    code: 1,
    stdout: '',
    stderr:
      'topicd: the input does not end with the last line of an export, so it may be truncated: all of its 2 lines were imported; if it is complete (earlier versions wrote no such line), use --allow-unfinished\n',
  })
  t.equal(await exported(data), whole, 'the lines of the export have been imported')
  const file = fresh()
  t.match(await importedFile(cut, file), {
    code: 1,
    stderr: /nothing was imported: standard input .* may be truncated; if it is/,
  })
  t.match(await importedFile(`${whole}\n`, file), { code: 0, stderr: '' })
  t.equal(await exported(file), whole)
})

await t.test('an export of a damaged store writes every readable topic, but no last line', async (t) => {
  const data = fresh()
  await imported(whole, data)
  await inside(data, ({ specifications }) => specifications.put('a' as Path, Buffer.from('j{'), 1))
  t.match(await runCommand(['export', '--data', data]), {
    code: 1,
    stdout: line('b'),
    stderr: /"a", could not be read/,
  })
})

await t.test('an import notices a missing line unless --allow-unfinished is given', async (t) => {
  const data = fresh()
  const filtered = line('a') + end(2)
  t.match(await imported(filtered, data), {
    code: 1,
    stderr:
      /^topicd: line 2: This line ends an export of 2 lines, but the number of lines before it is 1; if lines were omitted on purpose,/,
  })
  for (const input of [filtered, '']) {
    t.match(await imported(input, data, '--allow-unfinished'), { code: 0, stderr: '' })
  }
  t.match(await imported('{"end":{"topics":-1}}\n', data), { code: 1, stderr: /^topicd: line 1: / })
})

await t.test('an import accepts several exports in a row and can start in the middle of them', async (t) => {
  const data = fresh()
  t.match(await imported(whole + line('c') + end(1), data), { code: 0, stdout: /^3 topics imported/ })
  t.match(await imported(whole + line('c') + end(1), data, '--from-line', '2'), {
    code: 0,
    stdout: /^2 topics imported/,
  })
})

await t.test('check, given an export file, names the faults of the file and needs no store', async (t) => {
  const file = join(directory, 'checked.ndjson')
  const checked = async (content: string, ...flags: readonly string[]) => {
    writeFileSync(file, content)
    return runCommand(['check', file, ...flags, '--data', join(directory, 'none')])
  }
  t.match(await checked(whole), { code: 0, stdout: 'checked, 0 findings\n', stderr: '' })
  t.match(await checked(cut), {
    code: 1,
    stdout: /^the file does not end with the last line of an export, .* truncated;.*\nchecked, 1 finding\n$/,
  })
  t.match(await checked(cut, '--allow-unfinished'), { code: 0 })
  t.match(await runCommand(['check', '--allow-unfinished', '--data', join(directory, 'none')]), {
    code: 2,
    stderr: /^topicd: --allow-unfinished needs FILE/,
  })
  t.match(await runCommand(['check', directory]), { code: 2, stderr: /is a directory, .* --data \S+ checks a store/ })
  t.match(await checked(`${line('a')}nonsense\n${end(2)}`), { code: 1, stdout: /^line 2: It is not valid JSON.*\n/ })
})
