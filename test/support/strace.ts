/**
 * A process whose system calls fail or take long, by strace attached to it while it runs. What it cannot do on a machine
 * (no strace, no right to trace) it says, so that a test can skip itself out loud.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'

/** Why this machine cannot trace; undefined when it can. */
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
   * @param injection what happens to calls, as strace's `--inject` takes it, such as `fdatasync:error=EIO`
   */
  static async attach(t: Test, pid: number, injection: string): Promise<Strace> {
    const calls = injection.slice(0, injection.indexOf(':'))
    const child = spawn('strace', ['-f', '-p', String(pid), '-e', `trace=${calls}`, '-e', `inject=${injection}`], {
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

  /** Lets the process go on as it likes, delayed calls included: a strace that is killed lets go of everything. */
  async detach(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
  }
}
