/**
 * `npm run build`: compiles src/ to dist/, and bundles the files for browsers into dist/bundles. With `--if-changed`, which
 * `npm start` uses, it builds only if dist/ is missing or a source has changed, and prints that it does. With `--all`, it also
 * builds the programs for packages and documents, the benchmarks and the tests.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Contains the hash of the sources of the last successful build. */
const stamp = 'dist/.built'

const sources = ['src', 'scripts/build.mjs', 'package.json', 'package-lock.json', 'tsconfig.json']

function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesOf(join(path, name)))
}

/** Hashes the contents, not the times: files unpacked from a tarball may be older than the last build. */
function hashOfSources() {
  const hash = createHash('sha256')
  for (const path of sources.flatMap(filesOf)) hash.update(`${path}\0`).update(readFileSync(path)).update('\0')
  return hash.digest('hex')
}

/** Runs programs concurrently; returns whether all of them succeed. */
async function run(...commands) {
  const codes = commands.map(async ([program, ...args]) => {
    const child = spawn(`node_modules/${program}`, args, { stdio: 'inherit' })
    const [code] = await once(child, 'close').catch((error) => [error.message])
    if (typeof code === 'string') console.error(code)
    return code
  })
  return (await Promise.all(codes)).every((code) => code === 0)
}

/**
 * The command that compiles a project. Only the service has validators, which typia generates within `tspc`. TypeScript 7 has
 * no such transforms, but compiles the other projects in a seventh of the time.
 */
const compiling = (folder) => [folder === '.' ? '.bin/tspc' : 'typescript-7/bin/tsc', '-p', folder]

/** The command that bundles the files for browsers. It keeps names, so that stack traces are readable without source maps. */
const bundling = [
  '.bin/esbuild',
  ...['topics', 'service'].flatMap((page) => [
    `${page}=src/console/${page}/main.ts`,
    ...['css', 'html'].map((kind) => `${page}=src/console/static/${page}.${kind}`),
  ]),
  'icon=src/console/static/icon.svg',
  'client=src/client/index.ts',
  ...'--bundle --format=esm --target=es2022 --minify-whitespace --minify-syntax'.split(' '),
  ...'--loader:.html=copy --loader:.svg=copy --outdir=dist/bundles --log-level=warning'.split(' '),
]

/**
 * Drops the import of typia itself, which is unused after the transform but kept by the compiler. It would load 79 files in
 * each process, which takes a ninth of the start.
 */
function dropTypia() {
  for (const name of readdirSync('dist', { recursive: true })) {
    const path = join('dist', name)
    if (!path.endsWith('.js')) continue
    const text = readFileSync(path, 'utf8')
    const dropped = text.replace("import typia from 'typia';\n", '\n')
    if (/ from 'typia'|\btypia\.[\w.]+[(<]/.test(dropped)) throw new Error(`${path} still needs typia`)
    if (dropped !== text) writeFileSync(path, dropped)
  }
}

/** Deletes the outputs of sources that no longer exist: a build writes every other file again, and packages contain all files. */
function dropStale(startMs) {
  for (const name of readdirSync('dist', { recursive: true })) {
    const path = join('dist', name)
    const found = statSync(path)
    if (found.isFile() && found.mtimeMs < startMs) rmSync(path)
  }
}

function fail() {
  console.error('The build failed; see the errors above.')
  process.exit(1)
}

process.chdir(join(import.meta.dirname, '..'))
// Computed before the build: sources that change during the build are built the next time.
const hash = hashOfSources()
const ifChanged = process.argv.includes('--if-changed')
const all = process.argv.includes('--all')
const isBuilt = existsSync(stamp) && readFileSync(stamp, 'utf8') === hash
if (!isBuilt || !(ifChanged || all)) await buildProgram()
// The tests import types of dist-scripts/, and all of these projects import types of dist/.
if (all && !((await run(...['scripts', 'bench', 'packaging'].map(compiling))) && (await run(compiling('test'))))) fail()

async function buildProgram() {
  if (ifChanged) console.log('Building dist/ from src/, which takes about 20 seconds ...')
  const startMs = Date.now()
  if (!(await run(...['.', 'src/console'].map(compiling), bundling))) fail()
  dropStale(startMs)
  dropTypia()
  writeFileSync(stamp, hash)
  if (ifChanged) console.log('Built.')
}
