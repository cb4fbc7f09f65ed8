/**
 * Runs the named test files without coverage: `npm run test:one -- paging routes-set`. Options go to tap as they are.
 */
import { spawnSync } from 'node:child_process'

const files = process.argv.slice(2).map((name) => (name.startsWith('-') ? name : `dist-test/${name}.test.js`))
const { status } = spawnSync('tap', ['run', '--disable-coverage', ...files], { stdio: 'inherit' })
process.exitCode = status ?? 1
