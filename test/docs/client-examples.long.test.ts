/**
 * The TypeScript examples of docs/client.md, as one program that imports this package by its name: its types hold, and
 * each example prints what the page shows below it.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import ts from 'typescript'
import { examplesOf, readDocument } from '../support/documents.js'
import { startServer } from '../support/service/server.js'

/** Printed on a line of its own after the output of each example. */
const separator = '--- the next example ---'

const options: ts.CompilerOptions = {
  strict: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  types: ['node'],
  skipLibCheck: true,
}

t.test('the examples of docs/client.md print the output shown below them', async (t) => {
  const server = await startServer(t)
  const examples = examplesOf(readDocument('docs/client.md'), 'ts')
  t.ok(examples.length > 7, 'the examples were found')
  const program = (scripts: readonly string[]) =>
    scripts
      .map((script) => `${script.replaceAll('http://127.0.0.1:8080', server.url)}\n`)
      .join(`console.log('${separator}')\n`)

  // Below the repository, so that the package's name means the package itself.
  const file = join(t.testdirName, 'examples.mts')
  writeFileSync(file, program(examples.map(({ script }) => script)))
  const found = ts.getPreEmitDiagnostics(ts.createProgram([file], { ...options, noEmit: true }))
  t.strictSame(
    found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    [],
    'their types hold',
  )

  const built = join(t.testdirName, 'examples.mjs')
  const { outputText } = ts.transpileModule(program(examples.map(({ script }) => script)), {
    compilerOptions: { ...options, module: ts.ModuleKind.ESNext },
  })
  writeFileSync(built, outputText)
  const { stdout } = await promisify(execFile)(process.execPath, [built], {
    env: { ...process.env, KEY: server.token },
  })
  const printed = stdout.split(`${separator}\n`)
  for (const [index, { line, answer }] of examples.entries())
    t.equal(printed[index]?.trimEnd(), answer, `docs/client.md:${line}`)
})
