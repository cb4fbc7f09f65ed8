/** Imports run one way, and each library that needs care is imported in one place only. */
import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'
import { importsOf, root, sourcesOf } from '../support/sources.js'

const source = join(root, 'src')

/** A path of the repository as it is written here: relative to src/. */
const inSource = (path: string): string => path.replace(/^src\//, '')

/** What each file imports: packages by name, our files relative to src/. Imports of types count too. */
const importsByFile: ReadonlyMap<string, readonly string[]> = new Map(
  sourcesOf('src').map((file) => [inSource(file.path), importsOf(file).map(({ from }) => inSource(from))]),
)

const files = [...importsByFile.keys()]

const importsIn = (file: string): readonly string[] => importsByFile.get(file) ?? []

/** The files that are loaded with a file: its static imports, except those of types alone. */
function loadsOf(file: string): string[] {
  const text = readFileSync(join(source, file), 'utf8').replace(/^import type [^']*'[^']+'$/gms, '')
  return [...text.matchAll(/from\s*'(\.[^']+)'/g)].map(([, name = '']) =>
    relative(source, resolve(source, dirname(file), name)).replace(/\.js$/, '.ts'),
  )
}

/** The rooms that each room may import from, besides itself: everything else is an import that runs the wrong way. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  json: [],
  web: [],
  settings: ['base'],
  topics: ['json', 'settings'],
  selectors: ['base', 'settings', 'topics'],
  keys: ['topics', 'selectors'],
  store: ['base', 'settings', 'topics', 'selectors', 'keys'],
  changes: ['base', 'settings', 'json', 'topics', 'selectors', 'store'],
  http: ['base', 'settings'],
  auth: ['base', 'settings', 'keys', 'store'],
  api: ['base', 'settings', 'json', 'topics', 'selectors', 'keys', 'store', 'changes', 'http', 'auth', 'web'],
  ops: ['base', 'settings', 'store', 'changes', 'http', 'auth', 'web'],
  tools: ['base', 'settings', 'topics', 'selectors', 'keys', 'store', 'api'],
  cluster: [
    'base',
    'settings',
    'topics',
    'selectors',
    'keys',
    'store',
    'changes',
    'http',
    'auth',
    'api',
    'ops',
    'tools',
  ],
  commands: ['base', 'settings', 'topics', 'selectors', 'keys', 'store', 'auth', 'api', 'ops', 'tools', 'cluster'],
  'main.ts': ['base', 'settings', 'commands'],
  // Types alone; see below.
  client: ['topics', 'api'],
  console: ['client'],
}

/** No part of a room imports one that comes after it. */
function oneWay(base: string, parts: readonly string[]): (readonly [string, readonly string[]])[] {
  return parts.map((part, i) => [`${base}${part}/`, parts.slice(i + 1).map((later) => `${base}${later}/`)])
}

/** A file whose path begins with the first text imports nothing whose path or name begins with one of the second. */
const forbidden: readonly (readonly [string, readonly string[]])[] = [
  ...['json/', 'keys/', 'console/'].map((pure): readonly [string, readonly string[]] => [pure, ['node:']]),
  ...['topics/', 'selectors/'].map((pure): readonly [string, readonly string[]] => [pure, ['node:fs', 'node:net']]),
  // Only the programs know how they were configured; everything further inside is told what it needs.
  ...['topics/', 'selectors/', 'store/', 'http/', 'auth/', 'api/', 'ops/', 'tools/'].map(
    (inner): readonly [string, readonly string[]] => [inner, ['settings/config']],
  ),
  // A remove clause is compiled before it reaches the store.
  ['store/', ['selectors/planner', 'selectors/parse-selector']],
  ['api/', ['store/lmdb/', 'store/postgres/']],
  ['store/lmdb/', ['store/postgres/']],
  ['store/postgres/', ['store/lmdb/']],
  ...oneWay('store/lmdb/', ['environment', 'read', 'write', 'removal', 'file']),
  ...oneWay('store/postgres/', ['sql', 'connection', 'read', 'write', 'removal']),
  ...oneWay('cluster/', ['control', 'worker', 'primary']),
  ...oneWay('cluster/', ['control', 'writer', 'primary']),
  ...oneWay('cluster/', ['control', 'tool', 'primary']),
]

/** The room of a file of ours, or undefined for a package. */
function roomOf(name: string): string | undefined {
  const [room = ''] = name.split('/')
  return name.endsWith('.ts') ? room : undefined
}

/** The only places that may import these packages. */
const edges: readonly (readonly [string, RegExp])[] = [
  ['lmdb', /^store\/lmdb\//],
  ['pg', /^store\/postgres\//],
  ['uWebSockets.js', /^http\//],
  ['re2js', /^selectors\/pattern\/engine/],
  ['prom-client', /^ops\//],
  ['pino', /^ops\//],
  ['cli-progress', /^commands\//],
  ['typia', /^(api|cluster\/control|tools)\/validators\.ts$/],
]

function violations(imports: (file: string) => readonly string[]): string[] {
  const found: string[] = []
  for (const file of files) {
    const own = roomOf(file) ?? ''
    for (const name of imports(file)) {
      const room = roomOf(name)
      if (room !== undefined && room !== own && !mayImport[own]?.includes(room)) found.push(`${file} imports ${name}`)
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

t.test('no import runs the wrong way, and no library is imported outside its place', (t) => {
  t.ok(files.length > 50, 'the files were found')
  t.strictSame(violations(importsIn), [])
  const planted = (file: string): readonly string[] =>
    file === 'http/server.ts' ? [...importsIn(file), 'topics/path.ts', 'lmdb'] : importsIn(file)
  t.equal(violations(planted).length, 2, 'planted imports are found')
  t.end()
})

/** Every file that is reachable from a file by these imports, itself included. */
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
  const loaded = [...reached('cluster/primary/primary.ts', loadsOf)]
  t.ok(loaded.includes('cluster/primary/workers.ts'), 'the search follows imports')
  t.strictSame(
    loaded.filter((file) => /^store\/(lmdb|postgres|open)/.test(file)),
    [],
  )
  t.end()
})

t.test('validators load no other file of src/, except other validators', (t) => {
  t.ok(loadsOf('api/bodies/parse.ts').includes('api/validators.ts'), 'api/bodies/parse.ts loads them')
  t.strictSame(loadsOf('api/validators.ts'), [])
  t.strictSame(loadsOf('cluster/control/validators.ts'), [])
  t.strictSame(loadsOf('tools/validators.ts'), ['api/validators.ts'])
  t.end()
})

const isOfClient = (file: string): boolean => file.startsWith('client/')

/**
 * Imports between the client and the rest: the service uses none of it, only the console's page of topics does, and it
 * takes nothing but types from others.
 */
function clientViolations(imports: (file: string) => readonly string[], loads: (file: string) => readonly string[]) {
  const typesFrom = ['api/answers.ts', 'api/bodies/bodies.ts', 'topics/topic.ts']
  return files.flatMap((file) => {
    const banned = isOfClient(file)
      ? [
          ...imports(file).filter((name) => !isOfClient(name) && !typesFrom.includes(name)),
          ...loads(file).filter((name) => !isOfClient(name)),
        ]
      : imports(file).filter((name) => isOfClient(name) && !file.startsWith('console/topics/'))
    return banned.map((name) => `${file} imports ${name}`)
  })
}

t.test('the client is on its own: it loads no other file, no package, and nothing of Node.js', (t) => {
  t.ok(importsIn('client/wire.ts').includes('api/bodies/bodies.ts'), 'it takes types')
  t.strictSame(clientViolations(importsIn, loadsOf), [])
  const plant =
    (planted: Readonly<Record<string, string>>, of: (file: string) => readonly string[]) => (file: string) =>
      planted[file] === undefined ? of(file) : [...of(file), planted[file]]
  t.strictSame(
    clientViolations(
      plant({ 'api/fetch.ts': 'client/item.ts', 'client/item.ts': 'node:buffer' }, importsIn),
      plant({ 'client/wire.ts': 'api/bodies/bodies.ts' }, loadsOf),
    ),
    [
      'api/fetch.ts imports client/item.ts',
      'client/item.ts imports node:buffer',
      'client/wire.ts imports api/bodies/bodies.ts',
    ],
    'planted imports are found',
  )
  t.end()
})

/** The files that are reachable from themselves. */
function inCycles(imports: (file: string) => readonly string[]): string[] {
  return files.filter((file) => imports(file).some((next) => reached(next, imports).has(file)))
}

t.test('there is no import cycle, imports of types included', (t) => {
  t.strictSame(inCycles(importsIn), [])
  const planted = (file: string): readonly string[] =>
    file === 'tools/tool.ts' ? [...importsIn(file), 'tools/registry.ts'] : importsIn(file)
  t.ok(inCycles(planted).includes('tools/tool.ts'), 'a planted cycle is found')
  t.end()
})
