/**
 * "Generate a client" of docs/api.md: its commands run against a service, the generated code compiles with strict types, and its programs
 * print the output shown. The generated types also accept the page's request to each route.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import ts from 'typescript'
import { blocksOf, examplesOf, readDocument, sectionOf } from '../support/documents.js'
import { present } from '../support/elements.js'
import { startServer } from '../support/service/server.js'

t.setTimeout(540_000)

const run = promisify(execFile)

const page = readDocument('docs/api.md')
const section = sectionOf(page, 'generate-a-client')
const commands = blocksOf(section, 'console').map(({ text }) => text)
const programs = examplesOf(section, 'ts')

/** The requests of the first example of "Routes", one per line, each with its response's line. */
const [routes] = examplesOf(sectionOf(page, 'routes'))
const answers = present(routes?.answer).split('\n')
const requests = present(routes)
  .script.split('\n')
  .map((line, index) => {
    const [, route, body] = /^post (\w+) '(.+)'$/.exec(line) ?? []
    return { route: present(route), body: present(body), answer: JSON.parse(present(answers[index])) as unknown }
  })

/** The function of the generated client for each route. */
const functions: Readonly<Record<string, string>> = Object.fromEntries(
  ['fetchTopics', 'setTopic', 'addAndSetTopic', 'addTopic', 'removeTopics'].map((name) => [
    name.replace(/Topics?$/, ''),
    name,
  ]),
)

const print = 'const print = (result: { data?: unknown }) => console.log(JSON.stringify(result.data))'

/** The requests with only the generated types, and a line that the types must reject. */
const typed = `${present(programs[0]).script.split('await ')[0]}${print}
${requests.map(({ route, body }) => `print(await topics.POST('/topics/${route}', { body: ${body} }))`).join('\n')}
// @ts-expect-error there is no such route
export type None = paths['/topics/none']`

/** The same requests with the generated client. */
const called = `import * as sdk from './generated/index.js'
import { client } from './generated/client.gen.js'
client.setConfig({ auth: process.env.KEY })
${print}
${requests.map(({ route, body }) => `print(await sdk.${functions[route]}({ body: ${body} }))`).join('\n')}`

/** Compiles files and all their imports into the folder `built` next to them. @returns the errors */
function compile(folder: string, names: readonly string[]): readonly string[] {
  const program = ts.createProgram(
    names.map((name) => join(folder, `${name}.ts`)),
    {
      strict: true,
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
      module: ts.ModuleKind.NodeNext,
      types: ['node'],
      skipLibCheck: true,
      rootDir: folder,
      outDir: join(folder, 'built'),
    },
  )
  const { diagnostics } = program.emit()
  return [...ts.getPreEmitDiagnostics(program), ...diagnostics].map(
    ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
  )
}

t.test('the commands in docs/api.md generate clients, and the programs print the output shown', async (t) => {
  t.equal(programs.length, 2)
  t.strictSame(new Set(requests.map(({ route }) => route)), new Set(Object.keys(functions)), 'each route is shown')
  const server = await startServer(t)
  const here = (text: string): string => text.replaceAll('http://127.0.0.1:8080', server.url)
  // Use a folder inside the repository, so that the generators are found; a missing one must fail, not be downloaded.
  const folder = join(t.testdirName, 'project')
  mkdirSync(folder)
  const env = { ...process.env, KEY: server.token, npm_config_offline: 'true', npm_config_yes: 'false' }
  for (const command of commands) await run('sh', ['-ec', here(command)], { cwd: folder, env })

  const sources = { shown0: programs[0]?.script, shown1: programs[1]?.script, typed, called }
  for (const [name, text] of Object.entries(sources)) writeFileSync(join(folder, `${name}.ts`), here(present(text)))
  t.strictSame(compile(folder, Object.keys(sources)), [], 'the types are correct')

  const output = async (name: string): Promise<string> => {
    const { stdout } = await run(process.execPath, [join(folder, 'built', `${name}.js`)], { env })
    return stdout.trimEnd()
  }
  for (const [index, { answer }] of programs.entries())
    t.equal(await output(`shown${index}`), answer, `docs/api.md, program ${index}`)
  for (const name of ['typed', 'called']) {
    await server.post('remove', '{"selector":"?.*//"}')
    t.strictSame(
      (await output(name)).split('\n').map((line) => JSON.parse(line) as unknown),
      requests.map(({ answer }) => answer),
      `${name}: the page's requests and responses`,
    )
  }
})
