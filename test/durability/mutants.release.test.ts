/**
 * Planted faults, one at a time, in copies of the built program. The test named for a fault passes without it and fails with it, by an
 * assertion about the fault. CASE="a key for `a` can access `ab`" plants one fault; CASE=all plants every fault, which takes half an hour.
 * Without CASE, two are picked at random.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { root } from '../support/documents.js'
import { present } from '../support/elements.js'
import { type Mutant, mutants, withFault } from '../support/faults/mutants.js'
import { reportResults } from '../support/proof-results.js'
import { seededRandom } from '../support/random.js'
import { fileOf, testsOf } from '../support/test-files.js'
import { tied } from '../support/tied.js'

const chosen = process.env.CASE
const pickedCount = 2

/** A program that dies of such an error does not have the intended fault. */
const brokenProgram = /\b(?:ReferenceError|SyntaxError): .*/

/** Characters shown of the output of a test that ended without a failed assertion. */
const outputMax = 2000

/** Twice the time of the slowest test. */
const testMsMax = 240_000

t.setTimeout(7_200_000)

/** Copies everything that a test needs to run. */
function copyOf(directory: string): void {
  for (const name of ['dist', 'dist-test', 'package.json', 'docs', 'systemd'])
    cpSync(join(root, name), join(directory, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
}

function plant(directory: string, mutant: Mutant): void {
  const path = join(directory, 'dist', mutant.file)
  writeFileSync(path, withFault(mutant, readFileSync(path, 'utf8')))
}

/**
 * Runs a test in a copy.
 *
 * @returns the failed assertions, or why the test did not end; none if it passed
 * @throws Error when the program in the copy cannot run
 */
async function failures(directory: string, test: string): Promise<readonly string[]> {
  const [file] = testsOf(test).map((name) => join(directory, relative(root, fileOf(name))))
  // A clean environment, because this test's own runner would change the output.
  const environment = ['-i', `PATH=${process.env.PATH}`, 'TAP=1', `TAP_TIMEOUT=${(2 * testMsMax) / 1000}`]
  const child = spawn(...tied('env', [...environment, process.execPath, file ?? '']), {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  // Kills the test with everything that it has started.
  const timer = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), testMsMax)
  const pieces: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => pieces.push(piece))
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(timer)
  if (code === 0) return []
  const output = Buffer.concat(pieces).toString()
  const broken = brokenProgram.exec(output)
  if (broken !== null) throw new Error(`the copy's program is broken: ${broken[0]}`)
  const failed = [...output.matchAll(/^ *not ok \d+ - (.*)$/gm)].map(([, name = '']) => name)
  // A test that hangs after a failure has found the fault.
  if (failed.length > 0) return failed
  return [code === null ? `killed after ${testMsMax} ms` : `exited with ${code}: ${output.slice(-outputMax)}`]
}

async function tryMutant(t: Test, mutant: Mutant): Promise<void> {
  const directory = join(t.testdir(), 'copy')
  copyOf(directory)
  t.strictSame(await failures(directory, mutant.test), [], `${mutant.test} passes without the fault`)
  plant(directory, mutant)
  const failed = await failures(directory, mutant.test)
  const isFound = failed.some((name) => mutant.finds.test(name))
  t.ok(isFound, `${mutant.test} finds: ${mutant.fault}`, { expected: String(mutant.finds), failed })
  rmSync(directory, { recursive: true })
}

t.test('each planted fault is found by the test that the table names', async (t) => {
  const random = seededRandom(t)
  const picked = (): readonly Mutant[] => [...new Set(Array.from({ length: pickedCount }, () => random.pick(mutants)))]
  const named = (): Mutant => present(mutants.find(({ fault }) => fault === chosen))
  const tried = chosen === undefined ? picked() : chosen === 'all' ? mutants : [named()]
  for (const mutant of tried) await t.test(mutant.fault, (t) => tryMutant(t, mutant))
  reportResults(t, { mutants: tried.length })
})
