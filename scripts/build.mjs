/**
 * `npm run build`: compiles src/ to dist/, and bundles the files for browsers into dist/bundles. With `--if-changed`, as
 * `npm start` calls it: only if dist/ is missing or something that it is made from has changed since, and then it says that
 * it is building. With `--all`: that, and what makes packages and documents, the benchmarks and the tests.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Says from what the last build that succeeded was made. */
const stamp = 'dist/.built'

const sources = ['src', 'scripts/build.mjs', 'package.json', 'package-lock.json', 'tsconfig.json']

function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesOf(join(path, name)))
}

/** Of the contents, not the times: what a tarball unpacks can be older than the last build. */
function hashOfSources() {
  const hash = createHash('sha256')
  for (const path of sources.flatMap(filesOf)) hash.update(`${path}\0`).update(readFileSync(path)).update('\0')
  return hash.digest('hex')
}

/** Runs programs at the same time; whether all of them succeed. */
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
 * The command that compiles a project. Only the service's has validators, which typia makes within `tspc`. TypeScript 7,
 * which has no such transforms, takes a seventh of the time for the others.
 */
const compiling = (folder) => [folder === '.' ? '.bin/tspc' : 'typescript-7/bin/tsc', '-p', folder]

/** The command that bundles the files for browsers. Names stay, so that stack traces can be read without source maps. */
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
 * Drops the import of typia itself, which the compiler leaves although the transform has used up all that it is for: it
 * would load 79 files in each process, a ninth of its start.
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

function fail() {
  console.error('The build failed, for the reasons above.')
  process.exit(1)
}

process.chdir(join(import.meta.dirname, '..'))
// Taken before the build: what changes while it runs is built by the next.
const hash = hashOfSources()
const ifChanged = process.argv.includes('--if-changed')
const all = process.argv.includes('--all')
const isBuilt = existsSync(stamp) && readFileSync(stamp, 'utf8') === hash
if (!isBuilt || !(ifChanged || all)) await buildProgram()
// The tests import the types of dist-scripts/, and all of these those of dist/.
if (all && !((await run(...['scripts', 'bench', 'packaging'].map(compiling))) && (await run(compiling('test'))))) fail()

async function buildProgram() {
  if (ifChanged) console.log('Building dist/ from src/, which takes about 20 seconds ...')
  if (!(await run(...['.', 'src/console'].map(compiling), bundling))) fail()
  dropTypia()
  writeFileSync(stamp, hash)
  if (ifChanged) console.log('Built.')
}
