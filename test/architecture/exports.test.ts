/**
 * Every export of src/ is imported by another file. Only the exports on a list are imported by tests alone, and those of
 * the package's entries by its users. Everything else is private to its file, and can be changed by reading that file
 * alone.
 */
import t from 'tap'
import ts from 'typescript'
import { importsOf, parse, type Source, sourcesOf } from '../support/sources.js'

/** Exports that only tests import, each with the pure part that is tested through it. */
const forTests: ReadonlyMap<string, string> = new Map([
  ['src/ops/loop-delay.ts LoopDelays', 'the samples of a window, with a simulated clock'],
  [
    'src/selectors/pattern/pattern.ts harmlessExpression',
    "which patterns run on JavaScript's engine, compared with the other engine",
  ],
  ['src/selectors/pattern/pattern.ts linearTest', 'the engine for all other patterns, compared with a naive one'],
])

/** The limits that only their file needs, and tests of what happens there. */
const limitsForTests: readonly string[] = [
  'src/base/time-slices.ts sliceMs',
  'src/changes/seats.ts listenersOfKeyMax',
  'src/http/body.ts bodyBytesKeptMin',
  'src/http/body.ts bodyBytesSmallMax',
  'src/http/closing.ts unreadMsCrowdedMax',
  'src/http/closing.ts unreadMsMax',
  'src/http/uploads.ts uploadsMax',
  'src/store/lmdb/write/commits.ts bytesInOneCommitMax',
  'src/store/lmdb/write/commits.ts executionMsMax',
  'src/store/lmdb/write/desk.ts bytesQueuedByClientMax',
  'src/store/lmdb/write/link.ts writerSendsMax',
  'src/store/lmdb/write/slab.ts itemInSlabBytesMax',
  'src/store/lmdb/write/slab.ts slabBytes',
  'src/store/lmdb/write/topic-changes.ts comparedBytesMax',
]

/** The files that the package's users import, by `exports` of package.json. */
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

interface Findings {
  readonly unused: string[]
  readonly onlyForTests: string[]
}

/** Exports of src/ that no file imports, and those that only tests import, each as its file's path and its name. */
function findings(sources: readonly Source[]): Findings {
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

const sources = (['src', 'test', 'bench'] as const).flatMap(sourcesOf)

t.test('every export of src/ is imported by another file', (t) => {
  t.strictSame(findings(sources).unused, [])
  t.end()
})

t.test('the exports that only tests import are exactly those on the list', (t) => {
  t.strictSame(findings(sources).onlyForTests, [...forTests.keys(), ...limitsForTests].sort())
  t.end()
})

t.test('planted exports that no file imports, or only tests, are found', (t) => {
  const planted = [
    parse('src/a.ts', 'export const used = 1, unused = 2\nexport interface Tested {}\nexport type Renamed = string'),
    parse('src/b.ts', "import { used, type Renamed as Own } from './a.js'\nexport function lonely() {}"),
    parse('src/c.ts', 'export const loaded = 1'),
    parse('test/folder/a.test.ts', "import type { Tested } from '../../dist/a.js'"),
    parse('src/client/index.ts', "export { used } from '../a.js'"),
    parse('bench/c.ts', "const all = await import('../dist/c.js')"),
  ]
  t.strictSame(findings(planted), { unused: ['src/a.ts unused', 'src/b.ts lonely'], onlyForTests: ['src/a.ts Tested'] })
  t.end()
})
