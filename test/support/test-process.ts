/**
 * A process that runs one or several test files, and the evaluation of its output. The choice of files and their order is not made here.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { tied } from './tied.js'

const cpuTime = join(import.meta.dirname, 'cpu-time.js')
const runTogether = join(import.meta.dirname, 'run-together.js')

/** The variable with the files that one process runs. Arguments would not do, because tap derives the names of its fixtures from them. */
export const filesTogether = 'TOPICD_TEST_FILES'

export type StoreKind = 'lmdb' | 'PostgreSQL'

/** The variable with the only store over which a process runs tests that apply to each store. */
export const onlyStore = 'TOPICD_TEST_STORE'

/**
 * The text that tap prints, without failing, for an assertion after the file's root test has ended automatically. A root test with a
 * teardown may end at any await, so such a file puts its assertions into `t.test`.
 */
const lateAssertion = 'assertion after automatic end'

export interface Verdict {
  /** Whether the file ran to its end without a failure. */
  readonly ok: boolean
  /** Number of tests, not assertions; at least one has failed unless `ok`. */
  readonly passed: number
  readonly failed: number
  /** The names of skipped tests. */
  readonly skips: readonly string[]
  /** The CPU time of the process and of those that it waited for (cpu-time.ts); 0 if it was killed. */
  readonly cpuSeconds: number
}

/** @param code the exit status; null after a signal */
export function verdictOf(output: string, code: number | null): Verdict {
  // tap ends with its totals, which count assertions, as in "# { total: 73, pass: 71, skip: 2 }"
  const isComplete = /^# \{ total: \d.*\}$/m.test(output) && !output.includes(lateAssertion)
  const ok = code === 0 && isComplete
  // Only a test's line contains a duration.
  const count = (result: string): number =>
    output.match(new RegExp(`^ *${result} \\d+ - .* # time=`, 'gm'))?.length ?? 0
  // Tests that TAP_GREP filters out do not count as skipped.
  const skips = [...output.matchAll(/^ *ok \d+ - (.*# SKIP (?!filter:).*)$/gm)].map(([, skip = '']) => skip)
  return {
    ok,
    passed: count('ok'),
    failed: ok ? 0 : Math.max(1, count('not ok')),
    skips,
    // Use the last one: processes that the test forked inherit the preloaded module.
    cpuSeconds: Number([...output.matchAll(/^# CPU (\S+) s$/gm)].at(-1)?.[1] ?? 0),
  }
}

/** The environment of a test's process. */
export function testEnvironment(secondsMax: number): NodeJS.ProcessEnv {
  return { ...process.env, TAP: '1', TAP_TIMEOUT: String(secondsMax) }
}

/**
 * @param files run in turn, sharing services (run-together.ts) if there are several
 * @param isLeader whether the process leads a process group, so that all that it starts can be terminated with it
 */
export function startTest(files: readonly string[], env: NodeJS.ProcessEnv, isLeader = false): ChildProcess {
  const [program, more] =
    files.length === 1 ? [files[0] ?? '', {}] : [runTogether, { [filesTogether]: files.join(' ') }]
  return spawn(...tied(process.execPath, ['--enable-source-maps', '--import', cpuTime, program]), {
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: isLeader,
  })
}

/** All output of a process, and its exit status, after it has exited. */
export async function endOf(child: ChildProcess): Promise<{ readonly output: string; readonly code: number | null }> {
  const pieces: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (piece: Buffer) => pieces.push(piece))
  const [code] = (await once(child, 'close')) as [number | null]
  return { output: Buffer.concat(pieces).toString(), code }
}
