/**
 * The client as its users get it, from its own package, which npm installs alone, and as `topicd/client` from that of the
 * service, in Node.js and with its types.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import ts from 'typescript'
import { builtPackages } from '../support/machines/built-packages.js'
import { startServer } from '../support/service/server.js'
import { root } from '../support/sources.js'

const run = promisify(execFile)
// First: it empties the test's directory.
const server = await startServer(t)

/** The whole package of the client, in bytes: a page can afford it. */
const bytesMax = 200_000

/** A project with both packages. */
const project = join(t.testdirName, 'project')
const modules = join(project, 'node_modules')
mkdirSync(project, { recursive: true })
writeFileSync(join(project, 'package.json'), '{"type":"module"}')
await run('npm', ['install', '--offline', '--no-audit', '--no-fund', builtPackages(t)('client', '1.0.0')], {
  cwd: project,
})
const alone = readdirSync(modules).filter((name) => !name.startsWith('.'))
mkdirSync(join(modules, 'topicd'))
await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', project], { cwd: root })
const [archive = ''] = readdirSync(project).filter((name) => name.endsWith('.tgz'))
await run('tar', ['-xzf', join(project, archive), '-C', join(modules, 'topicd'), '--strip-components=1'])

t.test('the package of the client comes alone, and is small', async (t) => {
  t.strictSame(alone, ['topicd-client'])
  const { stdout } = await run('du', ['-sb', join(modules, 'topicd-client')])
  t.ok(Number.parseInt(stdout, 10) < bytesMax, stdout)
})

t.test('the package of the service has what an installation needs, and nothing of the repository', async (t) => {
  const documents = ['CHANGELOG.md', 'Containerfile', 'LICENSE', 'README.md', 'SECURITY.md', 'compose.yaml']
  const found = readdirSync(join(modules, 'topicd')).sort()
  t.strictSame(found, [...documents, 'dist', 'docs', 'package.json', 'systemd'])
  const built = readdirSync(join(modules, 'topicd/dist'))
  for (const name of ['main.js', 'bundles']) t.ok(built.includes(name), name)
  t.notOk(built.includes('console'), 'the modules of the console are in its bundles')
})

/** A program that uses every part, with errors that the type checker must find. */
const typedWith = (name: string): string => `
import { anyOf, type Child, type Client, connect, type ConnectOptions, type Constraint, descendants } from '${name}'
import { type Item, jsonText, type Operation, type Page, subtree, TopicdError, topic } from '${name}'

const options: ConnectOptions = { key: 'k', fetch, timeoutMs: 1000 }
const topics: Client = connect('http://127.0.0.1:8080', options)

export async function use(signal: AbortSignal): Promise<void> {
  const item: Item | undefined = await topics.get('a', { type: 'any', with_properties: true, signal })
  const text: string | undefined = item?.text
  const created: boolean = (await topics.addAndSet('a', jsonText(text ?? '1'), { properties: { X: 'y' } })).created
  const page: Page = await topics.page(anyOf(topic('a'), subtree('b'), descendants('c')), { size: 1, after: 'a' })
  for await (const { name, type } of topics.list('a')) console.log(name, type, created, page.has_more)
  const constraint: Constraint = { no_topic: true }
  const [first, second] = await topics.batch([{ op: 'add', path: 'a', constraint }, { op: 'remove', path: 'b' }])
  const numbers: number = second.removed
  const operations: Operation[] = [{ op: 'set', path: 'a', value: first.created }]
  for (const answer of await topics.batch(operations)) console.log(answer, numbers)
  const updated: { created: boolean } | undefined = await topics.update('a', (item) => Number(item?.value) + 1)
  const children: Child[] = []
  console.log(updated, children)
  try {
    await topics.remove('a', { dry_run: true })
  } catch (error) {
    if (error instanceof TopicdError && error.code === 'forbidden_path') console.log(error.operation, error.status)
  }
  // @ts-expect-error an option that does not exist
  await topics.get('a', { withValues: false })
  // @ts-expect-error a value must be given
  await topics.set('a')
  // @ts-expect-error the type of a value is not known
  console.log(item?.value.n)
  // @ts-expect-error a removal has no such answer
  console.log(second.created)
  // @ts-expect-error a removal by selector is no operation
  await topics.batch([{ op: 'remove', selector: '*a//' }])
  // @ts-expect-error no such constraint
  await topics.set('a', 1, { constraint: { noTopic: true } })
}
`

/** What the type checker finds in a file, as one line each. */
function findings(file: string, options: ts.CompilerOptions, inFolder = ''): readonly string[] {
  const program = ts.createProgram([file], { strict: true, noEmit: true, target: ts.ScriptTarget.ES2022, ...options })
  return ts
    .getPreEmitDiagnostics(program)
    .filter(({ file }) => file === undefined || file.fileName.includes(inFolder))
    .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`)
}

const dom = ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.asynciterable.d.ts']

for (const name of ['topicd-client', 'topicd/client']) {
  t.test(`a program imports ${name} and uses the service`, async (t) => {
    const program = `
      import { connect, subtree, TopicdError } from '${name}'
      const topics = connect(process.env.URL, { key: process.env.KEY })
      console.log(JSON.stringify(await topics.addAndSet('packed/a', { n: 1 })))
      for await (const { path, value } of topics.walk(subtree('packed'))) console.log(path, value.n)
      console.log(await topics.set('packed/b', 1).catch((error) => error instanceof TopicdError && error.code))
      console.log(JSON.stringify(await topics.upload([{ op: 'remove', path: 'packed/a' }])))
      console.log(await import('topicd/dist/main.js').catch(({ code }) => code))`
    writeFileSync(join(project, 'program.js'), program)
    const env = { ...process.env, URL: server.url, KEY: server.token }
    const { stdout } = await run(process.execPath, ['program.js'], { cwd: project, env })
    t.strictSame(stdout.trim().split('\n'), [
      '{"path":"packed/a","created":true}',
      'packed/a 1',
      'no_such_topic',
      '{"durable":1,"refused":0}',
      'ERR_PACKAGE_PATH_NOT_EXPORTED',
    ])
  })

  t.test(`the types of ${name} are found and hold, in Node.js and in a browser`, async (t) => {
    const file = join(project, 'typed.ts')
    const typed = typedWith(name)
    writeFileSync(file, typed)
    const node = { module: ts.ModuleKind.NodeNext, types: ['node'], typeRoots: [join(root, 'node_modules/@types')] }
    t.strictSame(findings(file, { ...node, lib: ['lib.es2022.d.ts'] }), [])
    // Files of the service, whose types the API's types come with, mention Buffer.
    const bundled = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, types: [] }
    const browser = { ...bundled, lib: dom, skipLibCheck: true }
    t.strictSame(findings(file, browser), [])
    writeFileSync(file, typed.replace("{ type: 'any'", "{ type: 'none'"))
    t.match(findings(file, browser), [/typed\.ts: .*"none"/])
  })
}

t.test('the source of the client uses only what browsers have, too', async (t) => {
  const file = join(root, 'src/client/index.ts')
  const options = { module: ts.ModuleKind.NodeNext, types: [], noUncheckedIndexedAccess: true }
  t.strictSame(findings(file, { ...options, lib: dom }, '/src/client/'), [])
  t.ok(findings(file, { ...options, lib: ['lib.es2022.d.ts'] }, '/src/client/').length > 5, 'without them it does not')
})
