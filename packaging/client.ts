/**
 * Builds the JavaScript client as a separate package for programs that only use a service: its modules, and the declarations
 * that their types need, in the same folders as in the build. It has no dependencies.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { contact } from './release.js'
import { root, run } from './run.js'

const built = join(root, 'dist')
const clientFolder = join(built, 'client')

/** Builds the package. @returns its file, in `out` */
export function buildClient(version: string, work: string, out: string): string {
  const name = 'topicd-client'
  const directory = join(work, `${name}-${version}`)
  const modules = readdirSync(clientFolder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.js'),
  )
  const files = [...modules.map((file) => join(clientFolder, file)), ...declarations()]
  for (const file of files) {
    const target = join(directory, relative(built, file))
    mkdirSync(dirname(target), { recursive: true })
    // The package does not contain the source maps.
    writeFileSync(target, readFileSync(file, 'utf8').replace(/^\/\/# sourceMappingURL=.*\n?/m, ''))
  }
  cpSync(join(root, 'LICENSE'), join(directory, 'LICENSE'))
  writeFileSync(join(directory, 'README.md'), readMe)
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(describe(name, version), undefined, 2)}\n`)
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', out], directory)) as [
    { readonly filename: string },
  ]
  rmSync(directory, { recursive: true })
  return join(out, packed.filename)
}

function describe(name: string, version: string): object {
  return {
    name,
    version,
    description: 'The client of topicd, a topic tree over HTTP',
    license: 'MIT',
    bugs: contact,
    type: 'module',
    sideEffects: false,
    exports: {
      '.': { types: './client/index.d.ts', default: './client/index.js' },
      './package.json': './package.json',
    },
    files: ['*'],
  }
}

/** The declarations of the client's entry, and everything that they import. */
function declarations(): readonly string[] {
  const found = new Set([join(clientFolder, 'index.d.ts')])
  for (const file of found) {
    for (const [, module = ''] of readFileSync(file, 'utf8').matchAll(/ from '(\.[^']+)\.js'/g))
      found.add(join(dirname(file), `${module}.d.ts`))
  }
  return [...found]
}

const readMe = `# topicd-client

The client of topicd, a topic tree over HTTP, for Node.js and browsers. It has no dependencies.

\`\`\`js
import { connect } from 'topicd-client'

const topics = connect('http://127.0.0.1:8080', { key: process.env.KEY ?? '' })
await topics.addAndSet('plant/7/temp', 21.5)
console.log((await topics.get('plant/7/temp'))?.value)
for await (const change of topics.changes('?plant/')) console.log(change)
\`\`\`

docs/javascript-client.md of topicd describes its methods; each also has a comment that editors show.
`
