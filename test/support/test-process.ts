/** A process that runs one test file or several, and what its output says. Which files are run, and when, is not known here. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { tied } from './tied.js'

const cpuTime = join(import.meta.dirname, 'cpu-time.js')
const runTogether = join(import.meta.dirname, 'run-together.js')

/** The variable with the files that one process runs: of arguments, tap makes the names of its fixtures. */
export const filesTogether = 'TOPICD_TEST_FILES'

export type StoreKind = 'lmdb' | 'PostgreSQL'

/** The variable with the one store over which a process tests what holds for each. */
export const onlyStore = 'TOPICD_TEST_STORE'

/**
 * What tap prints, without failing, of an assertion that comes after the file's root test has ended by itself. A root
 * test that has a teardown may end at any await; so such a file puts its assertions into `t.test`.
 */
const lateAssertion = 'assertion after automatic end'

export interface Verdict {
  /** Whether it ran to its end without a failure. */
  readonly ok: boolean
  /** How many tests, not assertions; at least one has failed unless it is `ok`. */
  readonly passed: number
  readonly failed: number
  /** The names of what was skipped. */
  readonly skips: readonly string[]
  /** The CPU time of its process and those that it waited for (cpu-time.ts); 0 when it was killed. */
  readonly cpuSeconds: number
}

/** @param code the exit status; null after a signal */
export function verdictOf(output: string, code: number | null): Verdict {
  // tap ends with its totals, which count assertions, as in "# { total: 73, pass: 71, skip: 2 }"
  const isComplete = /^# \{ total: \d.*\}$/m.test(output) && !output.includes(lateAssertion)
  const ok = code === 0 && isComplete
  // Only a test's line says how long it took.
  const count = (result: string): number =>
    output.match(new RegExp(`^ *${result} \\d+ - .* # time=`, 'gm'))?.length ?? 0
  // What is chosen by TAP_GREP is not skipped for want of something.
  const skips = [...output.matchAll(/^ *ok \d+ - (.*# SKIP (?!filter:).*)$/gm)].map(([, skip = '']) => skip)
  return {
    ok,
    passed: count('ok'),
    failed: ok ? 0 : Math.max(1, count('not ok')),
    skips,
    // The last one: processes that it forked inherit what is preloaded.
    cpuSeconds: Number([...output.matchAll(/^# CPU (\S+) s$/gm)].at(-1)?.[1] ?? 0),
  }
}

/** What a test's process needs of its environment. */
export function testEnvironment(secondsMax: number): NodeJS.ProcessEnv {
  return { ...process.env, TAP: '1', TAP_TIMEOUT: String(secondsMax) }
}

/**
 * @param files one after the other, and sharing what run-together.ts says, if there are several
 * @param isLeader whether it leads a process group, so that all that it starts can be ended with it
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

/** Everything that it prints, and its exit status, once it has ended. */
export async function endOf(child: ChildProcess): Promise<{ readonly output: string; readonly code: number | null }> {
  const pieces: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (piece: Buffer) => pieces.push(piece))
  const [code] = (await once(child, 'close')) as [number | null]
  return { output: Buffer.concat(pieces).toString(), code }
}
