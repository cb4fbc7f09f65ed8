/**
 * Planted faults, one at a time, in copies of the built program: the test that is named for each fails with it, and
 * passes without. MUTANT=3 plants the one with that number; without it, two are picked at random.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { reportFigures } from '../support/figures.js'
import { type Mutant, mutants } from '../support/mutants.js'
import { at } from '../support/only.js'
import { seededRandom } from '../support/random.js'

const root = join(import.meta.dirname, '../..')
const chosen = process.env.MUTANT
const pickedCount = 2

/** Twice what the slowest of the tests takes. */
const testMsMax = 240_000

t.setTimeout(1_800_000)

/** A copy of what a test needs, in which it can be run. */
function copyOf(directory: string): void {
  for (const name of ['dist', 'dist-test', 'package.json', 'docs', 'systemd'])
    cpSync(join(root, name), join(directory, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
}

/** Replaces the one place. @throws when it is not there exactly once */
function plant(directory: string, { file, from, to }: Mutant): void {
  const path = join(directory, 'dist', file)
  const text = readFileSync(path, 'utf8')
  const count = text.split(from).length - 1
  if (count !== 1) throw new Error(`${file} has ${count} times: ${from}`)
  writeFileSync(
    path,
    text.replace(from, () => to),
  )
}

/** Runs a test in a copy. @returns its output if it failed or never ended; undefined if it passed */
async function failure(directory: string, test: string): Promise<string | undefined> {
  const run = join(directory, 'dist-test/support/run.js')
  // Without the environment of this test's own runner, which would change what the inner one prints.
  const child = spawn('env', ['-i', `PATH=${process.env.PATH}`, process.execPath, run, test], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  // With everything that it has started.
  const timer = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), testMsMax)
  const pieces: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => pieces.push(piece))
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(timer)
  if (code === null) return 'not ok 0 - it never ended'
  return code === 0 ? undefined : Buffer.concat(pieces).toString()
}

async function tryMutant(t: Test, mutant: Mutant): Promise<void> {
  const directory = join(t.testdir(), 'copy')
  copyOf(directory)
  t.equal(await failure(directory, mutant.test), undefined, `${mutant.test} passes without the fault`)
  plant(directory, mutant)
  const output = (await failure(directory, mutant.test)) ?? ''
  t.match(output, /^ *not ok \d+/m, `${mutant.test} finds: ${mutant.fault}`)
  rmSync(directory, { recursive: true })
}

t.test('each planted fault is found by its test', async (t) => {
  const random = seededRandom(t)
  const picked = Array.from({ length: pickedCount }, () => random.pick(mutants))
  const tried = chosen === undefined ? [...new Set(picked)] : [at(mutants, Number(chosen))]
  for (const mutant of tried) await t.test(mutant.fault, (t) => tryMutant(t, mutant))
  reportFigures(t, { mutants: tried.length })
})
