/** Comments name files that exist: after a move, this finds the comments that still name the old path. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { commentsOf, isFile, parse, root, type Source, sourcesOf } from '../support/sources.js'

/** A file's name in running text, with folders or without. */
const fileName =
  /(?<![\w./*-])(?:\.{1,2}\/)*(?:[\w-]+\/)*[a-z][\w-]*(?:\.[\w-]+)*\.(?:m?ts|[cm]?js|md)\b(?![-\w]|\.\w)/g

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, Record<string, string>>
const packages = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })

/**
 * A name is relative to the folder of the file with the comment, to that file's tree (src/, test/ or bench/), to src/
 * or to the root. The name of a built file counts as that of its source.
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
  const names = commentsOf(source).flatMap((comment) => comment.match(fileName) ?? [])
  return names
    .filter((name) => !packages.includes(name) && !exists(source.path, name))
    .map((name) => `${source.path} names ${name}`)
}

t.test('comments name files that exist', (t) => {
  const sources = (['src', 'test', 'bench'] as const).flatMap(sourcesOf)
  t.ok(sources.flatMap(commentsOf).join('\n').match(fileName), 'some comments name files')
  t.strictSame(sources.flatMap(missingFiles), [])
  t.end()
})

t.test('a planted comment that names a missing file is found', (t) => {
  const planted = parse(
    'src/http/planted.ts',
    `/** As server.ts, ops/metrics/metrics.ts, README.md and test/support/run.ts say, in gone.ts and topics/gone.js, uWebSockets.js. */
const text = 'neverWas.ts' // and main.ts, with dist/main.js; not ops/server.ts
export function f(/* in lost.mjs */) {}`,
  )
  t.strictSame(
    missingFiles(planted).map((line) => line.replace('src/http/planted.ts names ', '')),
    ['gone.ts', 'topics/gone.js', 'ops/server.ts', 'lost.mjs'],
  )
  t.end()
})
