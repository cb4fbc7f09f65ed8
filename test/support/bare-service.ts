/**
 * A service whose standard output is the test's to choose, or to take away: on ports that are known before, with a key that is
 * made before, so that nothing has to be read from its log. Whoever reads the log uses server.ts.
 */
import { strict as assert } from 'node:assert'
import { join } from 'node:path'
import { get } from './metrics.js'
import { freePorts } from './ports.js'
import { runCommand, until } from './server.js'

const mainFile = join(import.meta.dirname, '../../dist/main.js')

/** Starting it, on a machine that is busy with everything else. */
const startMsMax = 60_000

export interface BareService {
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]]
  readonly url: string
  readonly adminUrl: string
  readonly token: string
  readonly ready: () => Promise<unknown>
}

/** What to run, and what it will be once it runs. */
export async function bareService(dataDir: string, flags: readonly string[] = []): Promise<BareService> {
  const { code, stdout, stderr } = await runCommand(['keys', 'add', 'tester', '--data', dataDir])
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
