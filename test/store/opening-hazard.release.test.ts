/**
 * The reason why all other processes pause their writes while one opens the store, even read-only (docs/maintainers/lmdb-js/report.md):
 * lmdb-js reads the last transaction's number from the file and stores it for all processes a moment later. strace lengthens that moment,
 * and a writer soon finds an acknowledged commit gone. If a later release of lmdb-js passes this test's openings, remove the pause.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { root } from '../support/documents.js'
import { whyNoStrace } from '../support/faults/strace.js'
import { tied } from '../support/tied.js'

/** Delay between reading the number and storing it, in µs. */
const delayUs = 5000

/** Only an opening between two transactions of the writer does damage, so the writer is between them half of the time. */
const betweenMs = 0.5

/** Far more openings than are needed for damage. */
const openingsUntilDamage = 4000

/** Number of openings of another store. */
const harmlessOpenings = 200

const options = '{ overlappingSync: false, encoding: "binary", mapSize: 2 ** 30, maxDbs: 4 }'

/** Commits consecutive numbers; exits when the last one is gone or lmdb fails. */
const writer = `
import { open } from 'lmdb'
const root = open({ path: process.argv[1], ...${options} })
let last = 0
function commit() {
  for (let i = 0; i < 20; i++) {
    let seen = 0
    const value = Buffer.alloc(8)
    value.writeDoubleBE(last + 1)
    try {
      root.transactionSync(() => {
        seen = root.get('counter')?.readDoubleBE() ?? 0
        root.putSync('counter', value)
      })
    } catch (error) {
      console.log('failed: ' + error.message)
      process.exit()
    }
    if (seen !== last) {
      console.log('lost: ' + last + ' was acknowledged, and the next transaction found ' + seen)
      process.exit()
    }
    last++
    for (const endMs = performance.now() + ${betweenMs}; performance.now() < endMs; );
  }
  setImmediate(commit)
}
process.on('SIGTERM', () => {
  console.log('sound after ' + last)
  process.exit()
})
commit()
console.log('writing')
`

/** Opens and closes the environment repeatedly. */
const opener = `
import { open } from 'lmdb'
const [path, readOnly, openings] = process.argv.slice(1)
for (let i = 0; i < Number(openings); i++) {
  const root = open({ path, readOnly: readOnly === 'true', ...${options} })
  root.get('counter')
  await root.close()
}
`

function nodeWith(script: string, ...args: readonly string[]): string[] {
  return [process.execPath, '--input-type=module', '-e', script, ...args]
}

/** strace's options that delay what opening reads from the file. */
const delay = ['-e', 'trace=pread64', '-e', `inject=pread64:delay_exit=${delayUs}`]

/** The report of a writer, or how it exited, while another process repeatedly opened an environment. */
async function foundBeside(t: Test, opened: 'its own' | 'another', readOnly = false): Promise<string> {
  const [path, other] = [join(t.testdir(), 'env'), join(t.testdir(), 'other')]
  for (const directory of [path, other]) mkdirSync(directory)
  const start = ([command = '', ...args]: readonly string[]) =>
    spawn(...tied(command, args), { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] })
  const writing = start(nodeWith(writer, path))
  const lines: string[] = []
  const output = createInterface({ input: writing.stdout })
  output.on('line', (line) => lines.push(line))
  await once(output, 'line')
  const ended = once(output, 'close')
  const opening = start([
    ...['strace', '-f', '-o', '/dev/null', ...delay],
    ...(opened === 'another'
      ? nodeWith(opener, other, 'false', String(harmlessOpenings))
      : nodeWith(opener, path, String(readOnly), String(openingsUntilDamage))),
  ])
  t.teardown(() => [writing, opening].map((child) => child.kill('SIGKILL')))
  await Promise.race([ended, once(opening, 'close')])
  writing.kill('SIGTERM')
  const [, signal] = (await Promise.all([once(writing, 'close'), ended]))[0] as [unknown, string | null]
  return lines[1] ?? `it ended by ${signal}`
}

const skip = whyNoStrace()

for (const readOnly of [false, true]) {
  t.test(`opening a store slowly with readOnly ${readOnly} damages the store for its writer`, { skip }, async (t) => {
    t.match(await foundBeside(t, 'its own', readOnly), /^(lost|failed|it ended by SIGSEGV)/)
  })
}

t.test('opening another store slowly damages nothing', { skip }, async (t) => {
  t.match(await foundBeside(t, 'another'), /^sound after [1-9]/)
})
