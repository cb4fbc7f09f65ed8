/**
 * A service whose standard output the test chooses, or closes. Its ports and API key are chosen before it starts, so no information has to
 * be read from its log. Tests that read the log use server.ts.
 */
import { strict as assert } from 'node:assert'
import { type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { freePorts } from '../machines/ports.js'
import { tied } from '../tied.js'
import { get } from './metrics.js'
import { mainFile, runCommand, until } from './server.js'

/** Time limit of a start on a busy machine, in ms. */
const startMsMax = 60_000

export interface BareService {
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]]
  readonly url: string
  readonly adminUrl: string
  readonly token: string
  readonly ready: () => Promise<unknown>
}

/** Prepares a service for `runBare`. */
export async function bareService(dataDir: string, flags: readonly string[] = []): Promise<BareService> {
  const { code, stdout, stderr } = await runCommand(['keys', 'add', 'tester', '--create', '--data', dataDir])
  assert.equal(code, 0, stderr)
  const [port, adminPort] = await freePorts(2)
  const adminUrl = `http://127.0.0.1:${adminPort}`
  const ports = ['--port', String(port), '--admin-port', String(adminPort)]
  return {
    command: [process.execPath, mainFile, 'serve', ...ports, '--data', dataDir, '--workers', '1', ...flags],
    url: `http://127.0.0.1:${port}`,
    adminUrl,
    token: stdout.trim(),
    ready: () =>
      until(
        'the service is ready',
        async () => ((await get(`${adminUrl}/readyz`).catch(() => undefined))?.status === 200 ? true : undefined),
        startMsMax,
      ),
  }
}

/** Runs a service until the test ends, with this standard input, output and error. Resolves when the service is ready. */
export async function runBare(t: Test, { command: [program, ...args], ready }: BareService, stdio: StdioOptions) {
  const child = spawn(...tied(program, args), { stdio })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await ready()
  /** Stops the service and waits until it has exited. @returns its exit code and signal */
  const stop = (): Promise<unknown> => {
    child.kill('SIGTERM')
    return ended
  }
  return { child, stop }
}
