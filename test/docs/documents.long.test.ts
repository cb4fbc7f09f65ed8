/**
 * The documents are correct: every example prints the output shown below it, every link has a target, every named file, test and npm script
 * exists, and the tables of selectors and settings agree with the program.
 */
import { strict as assert } from 'node:assert'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { settingsPage, withTable } from '../../dist-scripts/settings-page.js'
import { anchorsOf, documents, type Example, examplesOf, linksOf, readDocument, root } from '../support/documents.js'
import { cleanEnv, mainFile, startServer } from '../support/service/server.js'
import { tied } from '../support/tied.js'

/** The address of the service in the documents. */
const documentedUrl = 'http://127.0.0.1:8080'

/** Printed on its own line after the output of each example. */
const separator = '--- the next example ---'

/** Creates a program `topicd` in a directory, like an installation. @returns the directory */
function installCommand(directory: string): string {
  mkdirSync(directory, { recursive: true })
  const file = join(directory, 'topicd')
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${mainFile}' "$@"\n`)
  chmodSync(file, 0o755)
  return directory
}

/** The files of the package, which the Debian package and the tarball also contain. */
const packed = (
  JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root, encoding: 'utf8' }),
  ) as readonly { readonly files: readonly { readonly path: string }[] }[]
).flatMap(({ files }) => files.map(({ path }) => path))

const server = await startServer(t)
const programs = installCommand(join(t.testdirName, 'bin'))

/** Runs the examples of one document in one shell, in order; returns the output of each. */
async function run(examples: readonly Example[]): Promise<readonly string[]> {
  await server.post('remove', { selector: '?.*//' })
  const script = examples
    .map((example) => `${example.script.replaceAll(documentedUrl, server.url)}\nprintf '\\n%s\\n' '${separator}'\n`)
    .join('')
  const environment = cleanEnv()
  const own = { PATH: `${programs}:${environment.PATH}`, KEY: server.token, TOPICD_DATA: server.dataDir }
  const shell = spawn(...tied('sh', ['-eu']), {
    cwd: programs,
    env: { ...environment, ...own },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  shell.stdin.end(script)
  const [output, [code]] = await Promise.all([text(shell.stdout), once(shell, 'close')])
  assert.equal(code, 0, `the shell exited early; its output:\n${output}`)
  return output.split(`\n${separator}\n`)
}

for (const name of documents) {
  const examples = examplesOf(readDocument(name))
  if (examples.length === 0) continue
  t.test(`the examples in ${name} print the output shown below them`, async (t) => {
    const printed = await run(examples)
    for (const [index, { line, answer }] of examples.entries()) {
      if (answer !== undefined) t.equal(printed[index]?.replace(/\n$/, ''), answer, `${name}:${line}`)
    }
  })
}

/** Short enough for a newcomer to read it to the end. */
const readMeWordsMax = 900

/** The files, without anchors, to which a document links. */
function linkedFrom(name: string): readonly string[] {
  return linksOf(readDocument(name)).map((target) => targetOf(name, target).file)
}

t.test('README.md is short and links to the packaged documents, and CONTRIBUTING.md links to all others', async (t) => {
  const words = readDocument('README.md').split(/\s+/).filter(Boolean).length
  t.ok(words <= readMeWordsMax, `${words} words; the limit is ${readMeWordsMax}`)
  const unlinked = (from: string, isPacked: boolean): readonly string[] =>
    documents.filter((name) => packed.includes(name) === isPacked && name !== from && !linkedFrom(from).includes(name))
  t.strictSame(unlinked('README.md', true), [])
  t.strictSame(unlinked('CONTRIBUTING.md', false), [])
})

t.test('packaged documents link only to files in the package', async (t) => {
  const dead = (name: string): readonly string[] =>
    linkedFrom(name)
      .filter((file) => !packed.some((path) => path === file || path.startsWith(`${file}/`)))
      .map((file) => `${name}: ${file}`)
  t.strictSame(documents.filter((name) => packed.includes(name)).flatMap(dead), [])
})

/** The code spans in each cell of a table's row: in backticks, or in <code> if a span contains a bar. */
function cells(row: string): readonly (readonly string[])[] {
  return row
    .split(' | ')
    .map((cell) =>
      [...cell.matchAll(/`([^`]+)`|<code>(.+?)<\/code>/g)].map(
        ([, plain, code]) => plain ?? code?.replaceAll('&#124;', '|') ?? '',
      ),
    )
}

t.test('selectors match as documented in docs/selectors.md', async (t) => {
  await server.post('remove', { selector: '?.*//' })
  const table = readDocument('docs/selectors.md').split('| selector | matches | does not match |\n|---|---|---|\n')[1]
  const rows = table?.slice(0, table.indexOf('\n\n')).split('\n') ?? []
  t.ok(rows.length > 25, 'the table was found')
  for (const row of rows) {
    const [[selector] = [], matches = [], others = []] = cells(row)
    assert(selector !== undefined && matches.length > 0, row)
    for (const path of [...matches, ...others]) await server.post('add', { path })
    const answer = await server.post('fetch', { selector })
    const { results } = JSON.parse(answer.text) as { results: { path: string }[] }
    t.same(results.map(({ path }) => path).sort(), [...matches].sort(), selector)
    await server.post('remove', { selector: '?.*//' })
  }
})

t.test('the table in docs/settings.md is up to date', async (t) => {
  const page = readDocument(settingsPage)
  t.equal(withTable(page), page, '"npm run docs:settings" updates the table')
})

/** The target of a link: a file, relative to the root, and possibly a heading in it. */
function targetOf(from: string, target: string): { readonly file: string; readonly anchor: string | undefined } {
  const [file = '', anchor] = target.split('#')
  return { file: file === '' ? from : normalize(join(dirname(from), file)), anchor }
}

/** Why a link is broken; undefined if it works. */
function linkProblem(from: string, target: string): string | undefined {
  const { file: to, anchor } = targetOf(from, target)
  if (!existsSync(join(root, to))) return `${from}: ${target}: there is no ${to}`
  if (anchor !== undefined && !anchorsOf(readDocument(to)).includes(anchor))
    return `${from}: ${target}: no such heading`
  return undefined
}

t.test('the target of every link and anchor exists', async (t) => {
  const links = documents.flatMap((name) => linksOf(readDocument(name)).map((target) => ({ name, target })))
  t.ok(links.length > 50, 'the links were found')
  t.strictSame(
    links.flatMap(({ name, target }) => linkProblem(name, target) ?? []),
    [],
  )
})

t.test('each page of docs/ starts with a table of contents', async (t) => {
  for (const name of documents.filter((name) => name.startsWith('docs/'))) {
    const text = readDocument(name)
    const sections = [...text.matchAll(/^## (.+)$/gm)].map((match) => match[1] ?? '')
    const listed = [...text.slice(0, text.indexOf('\n## ')).matchAll(/^- \[(.+)\]\(#.+\)$/gm)].map((match) => match[1])
    t.strictSame(listed, sections, name)
  }
})

/** Every test with its folder, such as store/contract. */
const testNames = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' }).flatMap(
  (file) => /^(.+?)(?:\.\w+)?\.test\.ts$/.exec(file)?.[1] ?? [],
)

/** Whether the name stands for a test, with or without its folder, or for a folder of tests. */
function exists(name: string): boolean {
  return testNames.some((test) => test === name || test.endsWith(`/${name}`) || test.startsWith(`${name}/`))
}

/**
 * The tests that a document names: in docs/maintainers/verification.md, in the table of CONTRIBUTING.md, and in the commands of any
 * document.
 */
function testsNamedIn(name: string): readonly string[] {
  const document = readDocument(name)
  const named = (pattern: RegExp): readonly string[] => [...document.matchAll(pattern)].map(([, found = '']) => found)
  const rows = named(/^\| [^|]+ \| (`[^|]+`[^|]*) \| [^|]+ \|$/gm).filter(() => name === 'CONTRIBUTING.md')
  return [
    ...(name === 'docs/maintainers/verification.md' ? named(/`([\w-]+\/[\w-]+)`/g) : []),
    ...rows.flatMap((row) => cells(row)[0] ?? []).filter((test) => !test.includes(' ')),
    ...named(/Verified by\s+((?:`[\w/-]+`(?:,\s+|\s+and\s+)?)+)/g).flatMap((list) => cells(list)[0] ?? []),
    ...named(/npm run test:one --\s+((?:[a-z][\w/-]*(?: (?=[a-z]))?)+)/g).flatMap((list) => list.split(' ')),
  ]
}

t.test('every test, file and npm script that the documents name exists', async (t) => {
  const scripts = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts as object)
  const places = ['', 'src', 'bench']
  const missing: string[] = []
  for (const name of ['docs/maintainers/verification.md', 'CONTRIBUTING.md'])
    t.ok(testsNamedIn(name).length > 15, `${name} names tests`)
  for (const name of documents) {
    const document = readDocument(name)
    for (const test of testsNamedIn(name)) if (!exists(test)) missing.push(`${name}: the test ${test}`)
    for (const [, file = ''] of document.matchAll(/`([\w./-]+\.ts)`/g)) {
      if (file.includes('/') && !places.some((place) => existsSync(join(root, place, file))))
        missing.push(`${name}: ${file}`)
    }
    for (const [, script = ''] of document.matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g)) {
      if (!scripts.includes(script)) missing.push(`${name}: npm run ${script}`)
    }
  }
  t.strictSame(missing, [])
})
