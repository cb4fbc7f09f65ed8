/**
 * The test files, their kinds, and the files that a name stands for: a file, a folder, a half, or a range of commits. run.ts runs them.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { StoreKind } from './test-process.js'

const directory = join(import.meta.dirname, '..')

/** `postgres/crash.long` for dist-test/postgres/crash.long.test.js. */
const tests = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.(test|extra)\.js$/.test(file))
  .map((file) => file.replace(/\.test\.js$/, ''))
  .sort()

const cores = availableParallelism()

/**
 * The kinds of files, which follow from the end of their names, in run order, and the number that run at the same time. Long files mostly
 * wait. Load files, and several release files, keep the cores busy or compare times.
 */
export const atOnceMax = { quick: cores + 1, long: 2 * cores, load: cores, release: cores }

export type Kind = keyof typeof atOnceMax

function kindOf(test: string): Kind {
  const end = test.split('.')[1]
  return end === 'long' || end === 'load' || end === 'release' ? end : 'quick'
}

/** The folders of tests for the start of a path. */
const testedBy: readonly (readonly [touched: RegExp, folders: string])[] = [
  [/^(?:src|test)\/(\w+)\//, '$1'],
  [/^src\/store\/postgres\//, 'postgres'],
  [/^src\/(?:store|cluster)\//, 'durability'],
  [/^clients\//, 'client'],
  [/^docs\/|^\w+\.md$/, 'docs'],
  [/^(?:packaging|systemd)\/|^Containerfile$|^package/, 'packages'],
  [/^systemd\//, 'operate'],
  [/^bench\//, 'bench'],
]

/** The tests of the folders that test the files changed by a range of commits. */
function testsTouched(range: string): string[] {
  const files = execFileSync('git', ['diff', '--name-only', range], { encoding: 'utf8' }).split('\n')
  const folders = testedBy.flatMap(([touched, folder]) =>
    files.flatMap((file) => {
      const match = touched.exec(file)
      return match === null ? [] : [folder.replace('$1', match[1] ?? '')]
    }),
  )
  return tests.filter((test) => !test.endsWith('.extra.js') && folders.includes(test.split('/')[0] ?? ''))
}

/**
 * The tests of a name, empty if the name is unknown: `crash` stands for durability/crash.long and postgres/crash.long. Tests in `.extra.ts`
 * files run only by name: a folder or a range does not include them.
 */
export function testsOf(name: string): string[] {
  if (name.includes('..')) return testsTouched(name)
  if (name === 'quick') return tests.filter((test) => kindOf(test) === 'quick' && !test.endsWith('.extra.js'))
  if (name === 'long') return tests.filter((test) => ['long', 'load'].includes(kindOf(test)))
  if (name === 'release') return tests.filter((test) => kindOf(test) === 'release')
  return tests.filter((test) => {
    const [folder, file] = test.replace(/\.(long|load|release|extra\.js)$/, '').split('/')
    if (folder === name) return !test.endsWith('.extra.js')
    return [file, `${folder}/${file}`].includes(name) || test === name
  })
}

/** The path of a test's file. */
export const fileOf = (test: string): string => join(directory, test.endsWith('.js') ? test : `${test}.test.js`)

/** Files in one process: enough to make starting its services cheap, few enough to keep every core busy until the end. */
const filesTogetherMax = 8

/** Files that run in one process: files whose expectations apply to each store share the start of its service. */
export interface Group {
  readonly tests: readonly string[]
  readonly kind: Kind
  /** The store that the files run over; undefined for each store. */
  readonly store?: StoreKind
  /** The only tests of the files to run, as tap's TAP_GREP. */
  readonly only?: string
}

/** A sample of the release tests that is also part of the long half. */
const smokes: readonly (readonly [test: string, only: string])[] = [
  ['docs/proxies.release', '/^nginx/'],
  ['docs/recipes.release', '/^the shell loop /\n/uses one connection/'],
  ['http/upload-clients.release', '/^curl/'],
]

const textOf = (test: string): string => readFileSync(fileOf(test), 'utf8')
const sharesServices = (test: string): boolean => textOf(test).includes('overStores(')
const runsOverEach = (test: string): boolean => /\b(?:over(?:Stores|Workers)|each(?:Store|Kind))\(/.test(textOf(test))

function grouped(tests: readonly string[], store?: StoreKind): Group[] {
  const sharing = tests.filter((test) => kindOf(test) === 'quick' && sharesServices(test))
  const groups: Group[] = tests
    .filter((test) => !sharing.includes(test))
    .map((test) => ({ tests: [test], kind: kindOf(test), store }))
  for (let i = 0; i < sharing.length; i += filesTogetherMax)
    groups.unshift({ tests: sharing.slice(i, i + filesTogetherMax), kind: 'quick', store })
  return groups
}

/** The groups to run for these names. The quick half runs over LMDB; over PostgreSQL, its files are part of the long half. */
export function groupsOf(names: readonly string[]): Group[] {
  const chosen = [...new Set(names.flatMap(testsOf))]
  if (names[0] === 'quick') return grouped(chosen, 'lmdb')
  if (names[0] !== 'long') return grouped(chosen)
  return [
    ...grouped(testsOf('quick').filter(runsOverEach), 'PostgreSQL'),
    ...grouped(chosen),
    ...smokes.map(([test, only]) => ({ tests: [test], kind: 'load' as const, only })),
  ]
}
