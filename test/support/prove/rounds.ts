/** One round of a proof: its test as a process of its own, with a seed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { figuresIn } from '../figures.js'
import type { Proof } from './proofs.js'
import type { Ended } from './series.js'

const tests = join(import.meta.dirname, '../..')

/** The built file of a proof's test. */
export function fileOf({ test }: Proof): string {
  return join(tests, `${test}.test.js`)
}

/**
 * @param left how much of the goal is still missing
 * @param secondsLeft how long the run may still take
 */
export async function runRound(proof: Proof, seed: number, left: number, secondsLeft: number): Promise<Ended> {
  const startedMs = performance.now()
  const env = {
    ...process.env,
    TAP: '1',
    TAP_SAVE_FIXTURE: '1',
    TAP_TIMEOUT: String(proof.roundSecondsMax),
    ...proof.environment(left, secondsLeft),
    SEED: String(seed),
  }
  const child = spawn(process.execPath, ['--enable-source-maps', fileOf(proof)], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const pieces: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => pieces.push(piece))
  const [code] = (await once(child, 'close')) as [number | null]
  const output = Buffer.concat(pieces).toString()
  // A test that skips anything has shown nothing.
  const passed = code === 0 && /^# \{ total: \d/m.test(output) && !/^ *ok \d+ - .*# SKIP/m.test(output)
  return { passed, seconds: (performance.now() - startedMs) / 1000, figures: figuresIn(output), output }
}
