/**
 * The examples of docs/javascript-client.md as a reader runs them: the page's commands install the client's package from a release, and the
 * unchanged examples form one JavaScript program. Its types are correct, and each example prints the output shown below it.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import ts from 'typescript'
import { buildClient } from '../../dist-packaging/client.js'
import { blocksOf, examplesOf, readDocument, sectionOf } from '../support/documents.js'
import { startServer } from '../support/service/server.js'

const run = promisify(execFile)

/** Printed on its own line after the output of each example. */
const separator = '--- the next example ---'

const options: ts.CompilerOptions = {
  strict: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  types: ['node'],
  skipLibCheck: true,
  noEmit: true,
}

t.test('the examples in docs/javascript-client.md print the output shown below them', async (t) => {
  const server = await startServer(t)
  const page = readDocument('docs/javascript-client.md')
  const examples = examplesOf(page, 'ts')
  t.ok(examples.length > 7, 'the examples were found')
  const program = examples
    .map(({ script }) => `${script.replaceAll('http://127.0.0.1:8080', server.url)}\n`)
    .join(`console.log('${separator}')\n`)

  const project = join(t.testdirName, 'project')
  const work = join(t.testdirName, 'work')
  for (const folder of [project, work]) mkdirSync(folder, { recursive: true })
  // Otherwise npm would install into the repository that contains this folder.
  writeFileSync(join(project, 'package.json'), '{}')
  buildClient('1.2.3', work, project)
  const env = { ...process.env, KEY: server.token, npm_config_offline: 'true' }
  const commands = blocksOf(sectionOf(page, 'start'), 'console')
  t.equal(commands.length, 1, 'the commands were found')
  for (const { text } of commands) await run('sh', ['-ec', text], { cwd: project, env })

  const typed = join(project, 'example.mts')
  const file = join(project, 'example.mjs')
  for (const name of [typed, file]) writeFileSync(name, program)
  const found = ts.getPreEmitDiagnostics(ts.createProgram([typed], options))
  t.strictSame(
    found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    [],
    'the types of the examples are correct',
  )

  const { stdout } = await run(process.execPath, [file], { cwd: project, env })
  const printed = stdout.split(`${separator}\n`)
  for (const [index, { line, answer }] of examples.entries())
    t.equal(printed[index]?.trimEnd(), answer, `docs/javascript-client.md:${line}`)
})
