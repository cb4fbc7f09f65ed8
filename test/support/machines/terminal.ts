/**
 * A program on a terminal: its standard output and standard error are a pseudo-terminal that python3 opens, and that a test can close. The
 * program has no controlling terminal, so closing this one sends it no signal.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { until } from '../service/server.js'
import { tied } from '../tied.js'
import { signalAll } from './processes.js'

/** Why this machine cannot run a program on a terminal; false if it can. */
export function whyNoTerminal(): string | false {
  return spawnSync('python3', ['--version']).error === undefined
    ? false
    : 'python3 is not installed: terminals were NOT tested'
}

/** Copies the terminal's output to standard output until standard input ends; then closes the terminal, then standard output, and waits. */
const relay = `
import os, pty, select, subprocess, sys
ours, theirs = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
os.close(theirs)
print(child.pid, file=sys.stderr, flush=True)
while True:
    readable, _, _ = select.select([ours, 0], [], [])
    if 0 in readable: break
    try: os.write(1, os.read(ours, 65536))
    except OSError: break
os.close(ours)
os.close(1)
status = child.wait()
sys.exit(status if status >= 0 else 128 - status)
`

/**
 * Runs `command` on a terminal until it exits or the test ends.
 *
 * @returns its process id, everything that the terminal has shown so far, its exit code after it has exited, and a function that closes the
 * terminal while the program continues
 */
export async function onTerminal(t: Test, command: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  const child = spawn(...tied('python3', ['-c', relay, ...command]), { stdio: 'pipe', env })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  let shown = ''
  let first = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (first += text))
  child.stdin.on('error', () => {})
  const pid = await until('the program was started', async () =>
    first.includes('\n') ? Number(first.split('\n')[0]) : undefined,
  )
  t.teardown(() => {
    child.kill('SIGKILL')
    signalAll([pid], 'SIGKILL')
  })
  const closed = once(child.stdout, 'close')
  const close = async (): Promise<void> => {
    child.stdin.end()
    await closed
  }
  return { pid, shown: () => shown, close, ended }
}
