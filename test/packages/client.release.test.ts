/**
 * The client as its users get it, in Node.js and with its types: from its own package, which npm installs without any other, and as
 * `topicd/client` from the service's package.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { findings, platforms } from '../support/checked-types.js'
import { root } from '../support/documents.js'
import { builtPackages } from '../support/machines/built-packages.js'
import { startServer } from '../support/service/server.js'

const run = promisify(execFile)
// Started first, because this empties the test's directory.
const server = await startServer(t)

/** Maximum size of the client's package, in bytes: acceptable for a page. */
const bytesMax = 200_000

/** A project with both packages. */
const project = join(t.testdirName, 'project')
const modules = join(project, 'node_modules')
mkdirSync(project, { recursive: true })
writeFileSync(join(project, 'package.json'), '{"type":"module"}')
await run('npm', ['install', '--offline', '--no-audit', '--no-fund', builtPackages(t)('client', '8.0.0')], {
  cwd: project,
})
const alone = readdirSync(modules).filter((name) => !name.startsWith('.'))
mkdirSync(join(modules, 'topicd'))
await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', project], { cwd: root })
const [archive = ''] = readdirSync(project).filter((name) => name.endsWith('.tgz'))
await run('tar', ['-xzf', join(project, archive), '-C', join(modules, 'topicd'), '--strip-components=1'])

t.test('the package of the client is small and installs no other package', async (t) => {
  t.strictSame(alone, ['topicd-client'])
  const { stdout } = await run('du', ['-sb', join(modules, 'topicd-client')])
  t.ok(Number.parseInt(stdout, 10) < bytesMax, stdout)
})

t.test('the package of the service has only the files that an installation needs', async (t) => {
  const documents = ['CHANGELOG.md', 'Containerfile', 'LICENSE', 'README.md', 'SECURITY.md', 'compose.yaml']
  const found = readdirSync(join(modules, 'topicd')).sort()
  t.strictSame(found, [...documents, 'dist', 'docs', 'package.json', 'systemd'])
  const built = readdirSync(join(modules, 'topicd/dist'))
  for (const name of ['main.js', 'bundles']) t.ok(built.includes(name), name)
  t.notOk(built.includes('console'), 'the modules of the console are in its bundles')
})

/** A program with an error that the type checker must find. */
const typedWith = (name: string): string => `
import { connect, type Item } from '${name}'

const item: Item | undefined = await connect('http://127.0.0.1:8080', { key: 'k' }).get('a', { type: 'any' })
// @ts-expect-error the type of a value is not known
console.log(item?.value.n)
`

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

  t.test(`the types of ${name} are found by the compiler and are correct`, (t) => {
    const file = join(project, 'typed.ts')
    const typed = typedWith(name)
    for (const [platform, options] of Object.entries(platforms)) {
      writeFileSync(file, typed)
      t.strictSame(findings(file, options), [], platform)
      writeFileSync(file, typed.replace("{ type: 'any' }", "{ type: 'none' }"))
      t.match(findings(file, options), [/typed\.ts: .*"none"/], platform)
    }
    t.end()
  })
}
