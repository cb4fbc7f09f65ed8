/**
 * The Python client's own tests, which `python3 -m unittest` runs in clients/python. Each is reported as a test of this
 * file. The tests start their own services.
 */
import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { root } from '../support/documents.js'
import { missing } from '../support/installed.js'
import { tied } from '../support/tied.js'

/** Matches `test_a (tests.test_x.Y.test_a) ... ok`, with any output of the test in between. */
const verdict = /^(?<name>test_\w+) \(.+?\) \.\.\. [\s\S]*?(?<result>ok|FAIL|ERROR|skipped '(?<reason>.*)')$/gm

const skip = missing('python3', '--version')
const { output, code } = skip === false ? await runTests() : { output: '', code: 0 }

async function runTests() {
  const python = spawn(...tied('python3', ['-W', 'error', '-m', 'unittest', '--verbose'], { signal: 'TERM' }), {
    cwd: join(root, 'clients/python'),
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  assert(python.stderr !== null)
  const [output, [code]] = await Promise.all([text(python.stderr), once(python, 'close')])
  return { output, code }
}

const found = [...output.matchAll(verdict)].map(({ groups = {} }) => groups)
for (const { name = '', result, reason } of found)
  t.test(name, { skip: reason ?? false }, async (t) => {
    t.equal(result, 'ok')
  })

t.test("the Python client's tests have run", { skip }, async (t) => {
  t.equal(`${found.length}`, /^Ran (\d+) tests? /m.exec(output)?.[1], 'each test is reported')
  t.equal(code, 0, output)
})
