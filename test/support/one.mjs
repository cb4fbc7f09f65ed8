/**
 * Runs the named test files without coverage: `npm run test:one -- paging crash`. Options go to tap as they are.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** A long test goes by its short name too. */
function fileOf(name) {
  const long = `dist-test/${name}.long.test.js`
  return existsSync(long) ? long : `dist-test/${name}.test.js`
}

const args = process.argv.slice(2).map((arg) => (arg.startsWith('-') ? arg : fileOf(arg)))
const { status } = spawnSync('tap', ['run', '--disable-coverage', ...args], { stdio: 'inherit' })
process.exitCode = status ?? 1
