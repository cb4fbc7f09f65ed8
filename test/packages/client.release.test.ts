/** The client's own package: npm installs it alone, and programs and type checkers find what they need in it. */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import ts from 'typescript'
import { builtPackages } from '../support/machines/built-packages.js'
import { startServer } from '../support/service/server.js'

const run = promisify(execFile)

/** The whole package, in bytes: a page can afford it. */
const bytesMax = 200_000

const project = join(t.testdirName, 'project')
mkdirSync(project, { recursive: true })
writeFileSync(join(project, 'package.json'), '{"type":"module"}')
const archive = builtPackages(t)('client', '1.0.0')
await run('npm', ['install', '--offline', '--no-audit', '--no-fund', archive], { cwd: project })

t.test('it comes alone, and is small', async (t) => {
  t.strictSame(
    readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['topicd-client'],
  )
  const { stdout } = await run('du', ['-sb', 'node_modules/topicd-client'], { cwd: project })
  t.ok(Number.parseInt(stdout, 10) < bytesMax, stdout)
})

t.test('a program uses it', async (t) => {
  const server = await startServer(t)
  const program = `
    import { connect, descendants } from 'topicd-client'
    const topics = connect(process.env.URL, { key: process.env.KEY })
    console.log(JSON.stringify(await topics.addAndSet('packed/a', { n: 1 })))
    for await (const { path, value } of topics.walk(descendants('packed'))) console.log(path, value.n)
    console.log(JSON.stringify(await topics.upload([{ op: 'remove', path: 'packed/a' }])))`
  writeFileSync(join(project, 'program.js'), program)
  const env = { ...process.env, URL: server.url, KEY: server.token }
  const { stdout } = await run(process.execPath, ['program.js'], { cwd: project, env })
  t.strictSame(stdout.trim().split('\n'), [
    '{"path":"packed/a","created":true}',
    'packed/a 1',
    '{"durable":1,"refused":0}',
  ])
})

t.test('its types are complete', async (t) => {
  const file = join(project, 'typed.ts')
  writeFileSync(
    file,
    `import { connect, type Item, type Operation } from 'topicd-client'
    const topics = connect('http://127.0.0.1:8080', { key: 'k' })
    const item: Item | undefined = await topics.get('a', { with_version: true })
    const operations: Operation[] = [{ op: 'increment', path: 'a', increment: item?.version ?? 1n }]
    for await (const { kind } of topics.changes('?a/')) console.log(kind, await topics.batch(operations))
    // @ts-expect-error a value must be given
    await topics.set('a')
    export {}`,
  )
  const program = ts.createProgram([file], {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.asynciterable.d.ts'],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    types: [],
  })
  const found = ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
  t.strictSame(found, [])
})
