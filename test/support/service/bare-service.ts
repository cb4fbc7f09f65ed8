/**
 * A service whose standard output the test chooses, or closes. Its ports and API key are chosen before it starts, so
 * nothing has to be read from its log. Tests that read the log use server.ts.
 */
import { strict as assert } from 'node:assert'
import { freePorts } from '../machines/ports.js'
import { get } from './metrics.js'
import { mainFile, runCommand, until } from './server.js'

/** How long a start may take on a busy machine, in ms. */
const startMsMax = 60_000

export interface BareService {
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]]
  readonly url: string
  readonly adminUrl: string
  readonly token: string
  readonly ready: () => Promise<unknown>
}

/** Prepares a service; the caller runs `command`. */
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
