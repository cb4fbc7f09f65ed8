/**
 * A command whose output cannot be written reports the reason and exits with 1. If its reader has closed the pipe, it exits with 0, or
 * with 1 if it is check.
 */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { cleanEnv, mainFile, runCommand, startServer } from '../support/service/server.js'
import { startCommand } from '../support/service/tool-client.js'

const directory = t.testdir()

function toFullDevice(args: readonly string[]): { readonly code: number | null; readonly stderr: string } {
  const full = openSync('/dev/full', 'w')
  const { status, stderr } = spawnSync(process.execPath, [mainFile, ...args], {
    env: cleanEnv(),
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  })
  closeSync(full)
  return { code: status, stderr }
}

function failsOnFullDevice(t: Test, ...args: readonly string[]): void {
  const { code, stderr } = toFullDevice(args)
  t.equal(code, 1, `${args[0]} > /dev/full`)
  t.equal(stderr, 'topicd: cannot write to standard output: ENOSPC: no space left on device, write\n')
}

async function endsOnClosedPipe(t: Test, code: number, stderr: string, ...args: readonly string[]): Promise<void> {
  const { stdout, ended } = startCommand(t, args)
  stdout.destroy()
  await once(stdout, 'close')
  t.strictSame(await ended, { code, stderr }, `${args[0]} with a closed pipe`)
}

await t.test('with no service, a command fails if its output is full, but only `check` if it is closed', async (t) => {
  const data = join(directory, 'alone')
  await runCommand(['import', '--allow-unfinished', '--data', data], {}, '{"path":"a","value":1}\n')
  failsOnFullDevice(t, 'check', '--data', data)
  failsOnFullDevice(t, 'keys', 'list', '--data', data)
  await endsOnClosedPipe(t, 0, '', 'keys', 'list', '--data', data)
  // An interrupted check has not shown that the store is intact.
  const interrupted = 'topicd: the check was interrupted because standard output is closed\n'
  await endsOnClosedPipe(t, 1, interrupted, 'check', '--data', data)
})

await t.test('with a service, a command fails if its output is full, but not if it is closed', async (t) => {
  const { dataDir, post } = await startServer(t)
  await post('addAndSet', { path: 'a', value: 1 })
  failsOnFullDevice(t, 'export', '--data', dataDir)
  failsOnFullDevice(t, 'backup', join(directory, 'copy.mdb'), '--data', dataDir)
  await endsOnClosedPipe(t, 0, '', 'export', '--data', dataDir)
})
