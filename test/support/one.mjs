/**
 * Runs the named test files without coverage: `npm run test:one -- paging durability/crash topics`. A name is a file's, with
 * or without its folder, or a folder's for everything in it; quick and long tests alike. Options are passed to tap as they
 * are.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'

/** `postgres/crash.long` for dist-test/postgres/crash.long.test.js. */
const tests = readdirSync('dist-test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.js'))
  .map((file) => file.replace(/\.test\.js$/, ''))

/** The files that a name means: `crash` is durability/crash.long and postgres/crash.long. */
function filesOf(name) {
  const meant = tests.filter((test) => {
    const [folder, file] = test.replace(/\.long$/, '').split('/')
    return [folder, file, `${folder}/${file}`].includes(name) || test === name
  })
  if (meant.length === 0) {
    console.error(`no test is called ${name}`)
    process.exit(2)
  }
  return meant.map((test) => `dist-test/${test}.test.js`)
}

const args = process.argv.slice(2).flatMap((arg) => (arg.startsWith('-') ? [arg] : filesOf(arg)))
const { status } = spawnSync('tap', ['run', '--disable-coverage', ...args], { stdio: 'inherit' })
process.exitCode = status ?? 1
