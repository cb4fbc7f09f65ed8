/** One round of a proof: its test as a process of its own, with a seed, bounded in time. */
import type { ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from '../documents.js'
import { resultsIn } from '../proof-results.js'
import { endOf, startTest, testEnvironment, verdictOf } from '../test-process.js'
import type { Proof } from './proofs.js'
import type { Ended } from './series.js'

const tests = join(root, 'dist-test')

/** How long what a round has started may take to clean up once it is told to end. */
const endMsMax = 10_000

/** The built file of a proof's test. */
export function fileOf({ test }: Proof): string {
  return join(tests, `${test}.test.js`)
}

/** The command that repeats a round. */
export function commandOf(proof: Proof, seed: number, environment: Readonly<Record<string, string>>): string {
  const variables = Object.entries({ ...environment, SEED: String(seed) }).map(
    ([name, value]) => `${name}=${/^\w+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`}`,
  )
  return `env ${variables.join(' ')} TAP=1 node --enable-source-maps ${relative(root, fileOf(proof))}`
}

/**
 * Runs a round to its end, and removes its files if it passed.
 *
 * @param environment beside the seed
 * @param stop ends it before
 * @throws the reason of `stop`
 */
export async function runRound(
  proof: Proof,
  seed: number,
  environment: Readonly<Record<string, string>>,
  stop: AbortSignal,
): Promise<Ended> {
  const startedMs = performance.now()
  const env = { ...testEnvironment(proof.roundSecondsMax), ...environment, SEED: String(seed) }
  const child = startTest([fileOf(proof)], env, true)
  const end = (): void => endGroup(child)
  stop.addEventListener('abort', end)
  // The test has a time limit of its own, which a hanging event loop would not keep.
  const timer = setTimeout(end, proof.roundSecondsMax * 1000)
  const { output, code } = await endOf(child)
  clearTimeout(timer)
  stop.removeEventListener('abort', end)
  stop.throwIfAborted()
  const results = resultsIn(output)
  const { ok, skipped } = verdictOf(output, code)
  // A test that skips anything, or counts nothing, has shown nothing.
  const passed = ok && skipped === 0 && (results[proof.counted] ?? 0) > 0
  if (passed) removeFixtures(proof)
  return { passed, seconds: (performance.now() - startedMs) / 1000, results, output }
}

/** Ends a test and everything that it has started, first by a signal that lets it clean up. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  const signal = (name: NodeJS.Signals): void => {
    try {
      process.kill(-pid, name)
    } catch {
      // All of them have ended.
    }
  }
  signal('SIGTERM')
  setTimeout(() => signal('SIGKILL'), endMsMax)
}

/** Those of its test alone: others may be running. */
function removeFixtures(proof: Proof): void {
  const fixtures = join(root, '.tap/fixtures')
  if (!existsSync(fixtures)) return
  const prefix = `${relative(root, fileOf(proof)).replaceAll('/', '-')}-`
  for (const name of readdirSync(fixtures).filter((name) => name.startsWith(prefix))) {
    rmSync(join(fixtures, name), { recursive: true, force: true })
  }
}
