/**
 * `npm run build`: compiles src/ to dist/. With `--if-changed`, as `npm start` calls it: only if dist/ is missing or
 * something that it is made from has changed since, and then it says that it is building.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Dated by when the last build that succeeded began: what changes while a build runs is built by the next. */
const stamp = 'dist/.built'

const sources = ['src', 'scripts', 'package.json', 'package-lock.json', 'tsconfig.json']

/** When a file, or anything in a folder, last changed, in ms. A folder's own time tells additions and removals. */
function changedMs(path) {
  const stats = statSync(path)
  const entries = stats.isDirectory() ? readdirSync(path) : []
  return Math.max(stats.mtimeMs, ...entries.map((name) => changedMs(join(path, name))))
}

function compile(...args) {
  return spawnSync('tspc', args, { stdio: 'inherit' }).status === 0
}

process.chdir(join(import.meta.dirname, '..'))
const startedAt = new Date()
const ifChanged = process.argv.includes('--if-changed')
const builtMs = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0
if (ifChanged && Math.max(...sources.map(changedMs)) <= builtMs) process.exit()

if (ifChanged) console.log('Building dist/ from src/, which takes about 20 seconds ...')
if (!compile() || !compile('-p', 'src/console')) {
  console.error('The build failed, for the reasons above.')
  process.exit(1)
}
cpSync('src/console/static', 'dist/console/static', { recursive: true })
writeFileSync(stamp, '')
utimesSync(stamp, startedAt, startedAt)
if (ifChanged) console.log('Built.')
