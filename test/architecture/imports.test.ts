/** Imports run one way, and each library that needs care has one folder: read from the import lines themselves. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'

const source = resolve(import.meta.dirname, '../../src')
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))

/** What a file imports: packages by name, files of ours relative to src/. Types count too: they are knowledge. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(source, file), 'utf8')
  const named = [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(([, name = '']) => name)
  return named.map((name) =>
    name.startsWith('.') ? relative(source, resolve(source, dirname(file), name)).replace(/\.js$/, '.ts') : name,
  )
}

/** The files that are loaded with a file: its imports without those of types alone. */
function loadsOf(file: string): string[] {
  const text = readFileSync(join(source, file), 'utf8').replace(/^import type [^']*'[^']+'$/gms, '')
  return [...text.matchAll(/from\s*'(\.[^']+)'/g)].map(([, name = '']) =>
    relative(source, resolve(source, dirname(file), name)).replace(/\.js$/, '.ts'),
  )
}

/** Files whose path begins with the first may import nothing whose path or name begins with one of the second. */
const forbidden: readonly (readonly [string, readonly string[]])[] = [
  [
    'topics/',
    [
      'selectors/',
      'store/',
      'http/',
      'api/',
      'auth/',
      'cluster/',
      'ops/',
      'tools/',
      'commands/',
      'config',
      'node:fs',
      'node:net',
    ],
  ],
  [
    'selectors/',
    ['store/', 'http/', 'api/', 'auth/', 'cluster/', 'ops/', 'tools/', 'commands/', 'config', 'node:fs', 'node:net'],
  ],
  ['store/', ['http/', 'api/', 'auth/', 'cluster/', 'ops/', 'tools/', 'commands/', 'config']],
  ['store/lmdb/', ['store/postgres/']],
  ['store/postgres/', ['store/lmdb/']],
  ['http/', ['topics/', 'selectors/', 'store/', 'api/', 'auth/', 'cluster/', 'ops/', 'tools/', 'commands/', 'config']],
  ['auth/', ['http/', 'api/', 'cluster/', 'ops/', 'tools/', 'commands/', 'config']],
  ['api/', ['cluster/', 'ops/', 'tools/', 'commands/', 'config', 'store/lmdb/', 'store/postgres/']],
  ['ops/', ['tools/', 'cluster/', 'commands/']],
  ['tools/', ['cluster/', 'commands/']],
  ['cluster/', ['commands/']],
]

/** The only places that may import these packages. */
const edges: readonly (readonly [string, RegExp])[] = [
  ['lmdb', /^store\/lmdb\//],
  ['pg', /^store\/postgres\//],
  ['uWebSockets.js', /^http\//],
  ['re2js', /^selectors\/pattern/],
  ['prom-client', /^ops\//],
  ['pino', /^ops\//],
  ['cli-progress', /^commands\//],
  ['typia', /^validators\.ts$/],
]

function crossings(imports: (file: string) => readonly string[]): string[] {
  const found: string[] = []
  for (const file of files) {
    for (const name of imports(file)) {
      for (const [from, banned] of forbidden) {
        if (file.startsWith(from) && banned.some((start) => name.startsWith(start)))
          found.push(`${file} imports ${name}`)
      }
      for (const [library, place] of edges) {
        if (name === library && !place.test(file)) found.push(`${file} imports ${name}`)
      }
    }
  }
  return found
}

t.test('no arrow runs the wrong way', (t) => {
  t.ok(files.length > 50, 'the files were found')
  t.strictSame(crossings(importsOf), [])
  const planted = (file: string): string[] =>
    file === 'http/server.ts' ? [...importsOf(file), 'topics/path.ts', 'lmdb'] : importsOf(file)
  t.equal(crossings(planted).length, 2, 'arrows that are planted are found')
  t.end()
})

/** Everything that a file leads to by such imports, itself included. */
function reached(
  file: string,
  imports: (file: string) => readonly string[],
  seen = new Set<string>(),
): ReadonlySet<string> {
  if (seen.has(file) || !files.includes(file)) return seen
  seen.add(file)
  for (const next of imports(file)) reached(next, imports, seen)
  return seen
}

t.test('the primary loads nothing that could open a store', (t) => {
  const loaded = [...reached('cluster/primary.ts', loadsOf)]
  t.ok(loaded.includes('cluster/workers.ts'), 'the search goes somewhere')
  t.strictSame(
    loaded.filter((file) => /^store\/(lmdb|postgres|open)/.test(file)),
    [],
  )
  t.end()
})

t.test('the validators, which every layer loads, load none of them', (t) => {
  t.ok(loadsOf('api/parse.ts').includes('validators.ts'), 'they are loaded')
  t.strictSame(loadsOf('validators.ts'), [])
  t.end()
})

/** The files that lead to themselves. */
function inCircles(imports: (file: string) => readonly string[]): string[] {
  return files.filter((file) => imports(file).some((next) => reached(next, imports).has(file)))
}

t.test('no file imports itself in a circle, its types included', (t) => {
  const cached = new Map(files.map((file) => [file, importsOf(file)]))
  const imports = (file: string): readonly string[] => cached.get(file) ?? []
  t.strictSame(inCircles(imports), [])
  const planted = (file: string): readonly string[] =>
    file === 'tools/tool.ts' ? [...imports(file), 'tools/registry.ts'] : imports(file)
  t.ok(inCircles(planted).includes('tools/tool.ts'), 'a planted circle is found')
  t.end()
})
