/**
 * Makes system calls of a running process fail or take long, by attaching strace to it. `whyNoStrace` returns the reason for skipping a
 * test on a machine without strace or without permission to trace.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { tied } from '../tied.js'

/** Why this machine cannot trace; false if it can. */
export function whyNoStrace(): string | false {
  const { status, error, stderr } = spawnSync('strace', ['-o', '/dev/null', 'true'], { encoding: 'utf8' })
  if (error !== undefined) return 'strace is not installed'
  return status === 0 ? false : `strace cannot trace here: ${stderr.trim()}`
}

export class Strace {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  /**
   * Attaches to every thread of a process until the test ends, or until `detach`.
   *
   * @param injection the calls and their fault, as for strace's `--inject`, such as `fdatasync:error=EIO`
   */
  static async attach(t: Test, pid: number, injection: string): Promise<Strace> {
    const calls = injection.slice(0, injection.indexOf(':'))
    return Strace.attachWith(t, pid, ['-e', `trace=${calls}`, '-e', `inject=${injection}`])
  }

  /** Like `attach`, with any options of strace. */
  static async attachWith(t: Test, pid: number, options: readonly string[]): Promise<Strace> {
    const child = spawn(...tied('strace', ['-f', '-p', String(pid), ...options]), {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const strace = new Strace(child)
    t.teardown(() => strace.detach())
    const lines: string[] = []
    const attached = new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
        lines.push(line)
        if (/Process \d+ attached/.test(line)) resolve()
      })
      child.once('exit', () => reject(new Error(`strace could not attach: ${lines.join('\n')}`)))
    })
    await attached
    return strace
  }

  /** Lets the process continue, even from delayed calls: killing strace detaches it from every thread. */
  async detach(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
  }
}
