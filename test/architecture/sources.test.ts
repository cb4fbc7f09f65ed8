/**
 * Rules for all source files: imports run one way, exports are used, comments name files that exist, functions fit on a screen, and tests
 * start only processes that end with them. All files are parsed once, here, and none is executed.
 */
import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { root } from '../support/documents.js'
import { commentsOf, importsOf, isFile, parse, type Source, sourcesOf } from '../support/sources.js'

const [ofSrc, ofTest, ofBench] = (['src', 'test', 'bench'] as const).map(sourcesOf) as [Source[], Source[], Source[]]
const sources = [...ofSrc, ...ofTest, ...ofBench]

/** A path of the repository as written in this file: relative to src/. */
const inSource = (path: string): string => path.replace(/^src\//, '')

/** The imports of each file of src/: packages by name, our files relative to src/. Imports of types also count. */
const importsByFile: ReadonlyMap<string, readonly string[]> = new Map(
  ofSrc.map((file) => [inSource(file.path), importsOf(file).map(({ from }) => inSource(from))]),
)

const files = [...importsByFile.keys()]

type Imports = (file: string) => readonly string[]

const importsIn: Imports = (file) => importsByFile.get(file) ?? []

/** The same imports, with one more for each planted file. */
const planted =
  (of: Imports, plants: Readonly<Record<string, string>>): Imports =>
  (file) =>
    plants[file] === undefined ? of(file) : [...of(file), plants[file]]

/** The files loaded with a file: its static imports, without imports of types only. */
function loadsOf(file: string): string[] {
  const text = readFileSync(join(root, 'src', file), 'utf8').replace(/^import type [^']*'[^']+'$/gms, '')
  return [...text.matchAll(/from\s*'(\.[^']+)'/g)].map(([, name = '']) =>
    relative('/', resolve('/', dirname(file), name)).replace(/\.js$/, '.ts'),
  )
}

const inner = ['base', 'settings', 'topics', 'selectors', 'keys']

/** The rooms that each room may import from, besides itself; any other import runs the wrong way. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  json: ['base'],
  web: [],
  settings: ['base'],
  topics: ['base', 'json', 'settings'],
  selectors: ['base', 'settings', 'topics'],
  keys: ['settings', 'topics', 'selectors'],
  store: ['base', 'settings', 'topics', 'selectors', 'keys'],
  changes: ['base', 'settings', 'json', 'topics', 'selectors', 'store'],
  http: ['base', 'settings'],
  auth: ['base', 'settings', 'keys', 'store'],
  api: ['base', 'settings', 'json', 'topics', 'selectors', 'keys', 'store', 'changes', 'http', 'auth', 'web'],
  ops: ['base', 'settings', 'store', 'changes', 'http', 'auth', 'web'],
  tools: ['base', 'settings', 'topics', 'selectors', 'keys', 'store', 'api'],
  cluster: [...inner, 'store', 'changes', 'http', 'auth', 'api', 'ops', 'tools'],
  commands: [...inner, 'store', 'auth', 'api', 'ops', 'tools', 'cluster'],
  'main.ts': ['base', 'settings', 'commands'],
  // Only types, except that the console imports code from the client; see below.
  client: ['topics', 'api'],
  console: ['client', 'ops', 'api'],
}

/** No part of a room imports a part that is listed after it. */
function oneWay(base: string, parts: readonly string[]): (readonly [string, readonly string[]])[] {
  return parts.map((part, i) => [`${base}${part}/`, parts.slice(i + 1).map((later) => `${base}${later}/`)])
}

/** A file whose path starts with the first string imports nothing whose path or name starts with one of the second. */
const forbidden: readonly (readonly [string, readonly string[]])[] = [
  ...['json/', 'keys/', 'console/'].map((pure): readonly [string, readonly string[]] => [pure, ['node:']]),
  ...['topics/', 'selectors/'].map((pure): readonly [string, readonly string[]] => [pure, ['node:fs', 'node:net']]),
  // Only the programs know how they were configured; all code further inside receives only the values it needs.
  ...['topics/', 'selectors/', 'store/', 'http/', 'auth/', 'api/', 'ops/', 'tools/'].map(
    (inner): readonly [string, readonly string[]] => [inner, ['settings/config']],
  ),
  // A remove clause is compiled before it reaches the store.
  ['store/', ['selectors/planner', 'selectors/parse-selector']],
  ['api/', ['store/lmdb/', 'store/postgres/']],
  ['store/lmdb/', ['store/postgres/']],
  ['store/postgres/', ['store/lmdb/']],
  // An engine does not know the semantics of topics: store/core/ defines them once, and only the files that assemble a store know both.
  ['store/core/', ['store/lmdb/', 'store/postgres/', 'store/writer/']],
  ['store/writer/', ['store/lmdb/', 'store/postgres/']],
  ...oneWay('store/lmdb/', ['environment', 'view', 'commit', 'file']),
  ...oneWay('store/postgres/', ['sql', 'connection', 'view', 'commit']),
  ...oneWay('cluster/', ['control', 'worker', 'primary']),
  ...oneWay('cluster/', ['control', 'writer', 'primary']),
  ...oneWay('cluster/', ['control', 'tool', 'primary']),
]

/** The room of one of our files, or undefined for a package. */
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
  ['typia', /^(api\/(bodies\/shapes|routes\/\w+|openapi\/openapi-schemas)|(cluster\/control|tools)\/validators)\.ts$/],
]

function violations(imports: Imports): string[] {
  return files.flatMap((file) => {
    const own = roomOf(file) ?? ''
    const wrong = imports(file).filter((name) => {
      const room = roomOf(name)
      if (room !== undefined && room !== own && !mayImport[own]?.includes(room)) return true
      if (edges.some(([library, place]) => name === library && !place.test(file))) return true
      return forbidden.some(([from, banned]) => file.startsWith(from) && banned.some((start) => name.startsWith(start)))
    })
    return wrong.map((name) => `${file} imports ${name}`)
  })
}

t.test('imports follow the permitted directions, and each library is imported only where permitted', async (t) => {
  t.ok(files.length > 50, 'the files were found')
  t.strictSame(violations(importsIn), [])
  for (const name of ['topics/path.ts', 'lmdb'])
    t.strictSame(violations(planted(importsIn, { 'http/server.ts': name })), [`http/server.ts imports ${name}`])
})

/** Every file that is reachable from a file by these imports, including the file itself. */
function reached(file: string, imports: Imports, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file) || !importsByFile.has(file)) return seen
  seen.add(file)
  for (const next of imports(file)) reached(next, imports, seen)
  return seen
}

t.test('the primary loads nothing that could open a store', async (t) => {
  const loaded = [...reached('cluster/primary/primary.ts', loadsOf)]
  t.ok(loaded.includes('cluster/primary/workers.ts'), 'the search follows imports')
  t.strictSame(
    loaded.filter((file) => /^store\/(lmdb|postgres|open)/.test(file)),
    [],
  )
})

t.test('validators load no other file of src/', async (t) => {
  t.ok(loadsOf('tools/import-line.ts').includes('tools/validators.ts'), 'tools/import-line.ts loads its validators')
  t.strictSame(loadsOf('cluster/control/validators.ts'), [])
  t.strictSame(loadsOf('tools/validators.ts'), [])
})

const isOfClient = (file: string): boolean => file.startsWith('client/')

/**
 * Imports between the client and the rest: only the console's topics page imports the client. The client imports only types from other
 * rooms, and the console only types from the service.
 */
function clientViolations(imports: Imports, loads: Imports): string[] {
  const typesFrom = ['api/answers.ts', 'api/bodies/bodies.ts', 'topics/topic.ts']
  return files.flatMap((file) => {
    const banned = isOfClient(file)
      ? [
          ...imports(file).filter((name) => !isOfClient(name) && !typesFrom.includes(name)),
          ...loads(file).filter((name) => !isOfClient(name)),
        ]
      : [
          ...imports(file).filter((name) => isOfClient(name) && !file.startsWith('console/topics/')),
          ...loads(file).filter((name) => file.startsWith('console/') && !/^(client|console)\//.test(name)),
        ]
    return banned.map((name) => `${file} imports ${name}`)
  })
}

t.test('the client loads no other file, no package and no Node.js module', async (t) => {
  t.ok(importsIn('client/wire.ts').includes('api/bodies/bodies.ts'), 'the client imports types')
  t.strictSame(clientViolations(importsIn, loadsOf), [])
  const plants = { 'api/routes/fetch.ts': 'client/item.ts', 'client/item.ts': 'node:buffer' }
  const loads = planted(loadsOf, { 'client/wire.ts': 'json/reader.ts', 'console/service/main.ts': 'ops/tls.ts' })
  t.equal(clientViolations(planted(importsIn, plants), loads).length, 4, 'planted imports are found')
})

/** The files that are reachable from themselves through imports. */
function inCycles(imports: Imports): string[] {
  return files.filter((file) => imports(file).some((next) => reached(next, imports).has(file)))
}

t.test('imports, including imports of types, form no cycle', async (t) => {
  t.strictSame(inCycles(importsIn), [])
  const cyclic = planted(importsIn, { 'tools/tool.ts': 'tools/registry.ts' })
  t.ok(inCycles(cyclic).includes('tools/tool.ts'), 'a planted cycle is found')
})

/** Exports that only tests import, each with the pure part that is tested through the export. */
const forTests: ReadonlyMap<string, string> = new Map([
  ['src/ops/loop-delay.ts LoopDelays', 'the samples of a window, with a simulated clock'],
  [
    'src/selectors/pattern/pattern.ts harmlessExpression',
    "the patterns that run on JavaScript's engine, compared with the other engine",
  ],
  ['src/selectors/pattern/pattern.ts linearTest', 'the engine for all other patterns, compared with a naive one'],
])

/** Limits that only their own file needs, and tests of the behaviour at the limit. */
const limitsForTests: readonly string[] = [
  'src/base/time-slices.ts sliceMs',
  'src/changes/seats.ts listenersOfKeyMax',
  'src/http/body.ts bodyBytesKeptMin',
  'src/http/body.ts bodyBytesSmallMax',
  'src/http/closing.ts unreadMsCrowdedMax',
  'src/http/closing.ts unreadMsMax',
  'src/http/uploads.ts uploadsMax',
  'src/store/core/write/batch.ts comparedBytesMax',
  'src/store/lmdb/commit/commits.ts bytesInOneCommitMax',
  'src/store/lmdb/commit/commits.ts decidingMsMax',
  'src/store/writer/session.ts writerSendsMax',
  'src/store/writer/server.ts bytesQueuedByClientMax',
]

/** The files that the package's users import, according to `exports` in package.json. */
const entries: readonly string[] = ['src/client/index.ts']

/** The names that a file exports. */
function exportsOf({ parsed }: Source): string[] {
  return parsed.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement) && statement.exportClause && ts.isNamedExports(statement.exportClause)) {
      return statement.exportClause.elements.map(({ name }) => name.text)
    }
    const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined
    if (!modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []))
    }
    return 'name' in statement ? [(statement.name as ts.Identifier).text] : []
  })
}

/** Exports of src/ that no file imports, and exports that only tests import, each as its file's path and its name. */
function exportFindings(sources: readonly Source[]) {
  const users = new Map<string, string[]>()
  const use = (key: string, user: string): unknown => users.get(key)?.push(user) ?? users.set(key, [user])
  const exported = new Map(sources.map((source) => [source.path, exportsOf(source)]))
  for (const source of sources) {
    for (const { from, names } of importsOf(source)) {
      for (const name of names ?? exported.get(from) ?? []) use(`${from} ${name}`, source.path)
    }
  }
  const keys = sources
    .filter(({ path }) => path.startsWith('src/') && !entries.includes(path))
    .flatMap(({ path }) => (exported.get(path) ?? []).map((name) => `${path} ${name}`))
  return {
    unused: keys.filter((key) => !users.has(key)),
    onlyForTests: keys.filter((key) => users.get(key)?.every((user) => user.startsWith('test/'))).sort(),
  }
}

t.test('every export of src/ is imported, and only listed exports are imported by tests alone', async (t) => {
  t.strictSame(exportFindings(sources), { unused: [], onlyForTests: [...forTests.keys(), ...limitsForTests].sort() })
  const plants = [
    parse('src/a.ts', 'export const used = 1, unused = 2\nexport interface Tested {}\nexport type Renamed = string'),
    parse('src/b.ts', "import { used, type Renamed as Own } from './a.js'\nexport function lonely() {}"),
    parse('src/c.ts', 'export const loaded = 1'),
    parse('test/folder/a.test.ts', "import type { Tested } from '../../dist/a.js'"),
    parse('bench/c.ts', "const all = await import('../dist/c.js')"),
  ]
  const found = { unused: ['src/a.ts unused', 'src/b.ts lonely'], onlyForTests: ['src/a.ts Tested'] }
  t.strictSame(exportFindings(plants), found)
})

/** A file's name in running text, with or without folders. */
const fileName =
  /(?<![\w./*-])(?:\.{1,2}\/)*(?:[\w-]+\/)*[a-z][\w-]*(?:\.[\w-]+)*\.(?:m?ts|[cm]?js|md)\b(?![-\w]|\.\w)/g

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, Record<string, string>>
const packages = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })

/**
 * A name is relative to the folder of the file with the comment, to that file's tree (src/, test/ or bench/), to src/ or to the root. The
 * name of a built file stands for its source.
 */
function exists(path: string, name: string): boolean {
  const [tree = ''] = path.split('/')
  const fromRoot = name.replace(/^dist\//, 'src/').replace(/^dist-/, '')
  const names = [fromRoot, fromRoot.replace(/\.js$/, '.ts')]
  return [dirname(path), dirname(dirname(path)), tree, 'src', '.'].some((folder) =>
    names.some((name) => isFile(join(folder, name))),
  )
}

/** The missing files that a file's comments name. */
function missingFiles(source: Source): string[] {
  const names = [...commentsOf(source).values()].flatMap((comment) => comment.match(fileName) ?? [])
  return names
    .filter((name) => !packages.includes(name) && !exists(source.path, name))
    .map((name) => `${source.path} names ${name}`)
}

t.test('files that comments name exist', async (t) => {
  t.strictSame(sources.flatMap(missingFiles), [])
  const plant = parse(
    'src/http/planted.ts',
    `/** As server.ts, ops/metrics/metrics.ts, README.md and test/support/run.ts say, in gone.ts and topics/gone.js. */
const text = 'neverWas.ts' // and main.ts, with dist/main.js; not ops/server.ts
export function f(/* in lost.mjs */) {}`,
  )
  t.strictSame(
    missingFiles(plant).map((line) => line.replace('src/http/planted.ts names ', '')),
    ['gone.ts', 'topics/gone.js', 'ops/server.ts', 'lost.mjs'],
  )
})

const linesMax = 70

/** The functions of a file with more than `linesMax` lines, each with its location and length. */
function longFunctions({ path, parsed }: Source): string[] {
  const found: string[] = []
  const line = (position: number): number => parsed.getLineAndCharacterOfPosition(position).line + 1
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const first = line(node.getStart(parsed))
      const lines = line(node.end) - first + 1
      if (lines > linesMax) found.push(`${path}:${first} ${node.name?.getText(parsed) ?? 'function'}: ${lines} lines`)
    }
    ts.forEachChild(node, visit)
  }
  visit(parsed)
  return found
}

t.test(`no function of src/ is longer than ${linesMax} lines`, async (t) => {
  t.strictSame(ofSrc.flatMap(longFunctions), [])
  const plant = (lines: number) => {
    const body = '  work()\n'.repeat(lines - 2)
    const text = `function f() {\n${body}}\nconst g = () => {\n${body}}\nclass T {\n  m() {\n${body}  }\n}`
    return longFunctions(parse('src/a.ts', text))
  }
  t.strictSame(plant(linesMax), [])
  t.equal(plant(linesMax + 1).length, 3, 'a function with one more line is found')
})

/** The calls of `spawn` whose program and arguments do not result from `tied` (support/tied.ts). */
function looseIn({ path, parsed }: Source): string[] {
  const loose: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText(parsed) === 'spawn') {
      if (!node.arguments[0]?.getText(parsed).startsWith('...tied(')) loose.push(`${path}: ${node.getText(parsed)}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(parsed)
  return loose
}

t.test('tests start only processes that exit when the test exits', async (t) => {
  t.strictSame(ofTest.flatMap(looseIn), [])
  const plant = parse('test/a.ts', "spawn('sleep', ['9']); spawn(...tied('sleep', ['9']), {})")
  t.strictSame(looseIn(plant), ["test/a.ts: spawn('sleep', ['9'])"])
})
