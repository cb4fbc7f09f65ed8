/**
 * A command whose output cannot be written ends with 1 and the reason. One whose reader has gone ends with 0, or with 1
 * if it is check.
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

async function expectations(t: Test, data: string): Promise<void> {
  const commands = [
    ['export'],
    ['check'],
    ['keys', 'list'],
    ['backup', join(directory, `${data.replaceAll('/', '')}.mdb`)],
  ]
  for (const command of commands) {
    const { code, stderr } = toFullDevice([...command, '--data', data])
    t.equal(code, 1, `${command[0]} > /dev/full`)
    t.equal(stderr, 'topicd: standard output cannot be written: ENOSPC: no space left on device, write\n')
  }
  for (const command of [['export'], ['check'], ['keys', 'list']]) {
    const { stdout, ended } = startCommand(t, [...command, '--data', data])
    stdout.destroy()
    await once(stdout, 'close')
    // An interrupted check has not shown that the store is sound.
    const expected =
      command[0] === 'check'
        ? { code: 1, stderr: 'topicd: nobody reads standard output; the check was interrupted\n' }
        : { code: 0, stderr: '' }
    t.strictSame(await ended, expected, `${command[0]} with a reader that has gone`)
  }
}

await t.test(
  'without a service, a full device ends a command with 1, a closed pipe with 0, or check with 1',
  async (t) => {
    const data = join(directory, 'alone')
    await runCommand(['import', '--allow-unfinished', '--data', data], {}, '{"path":"a","value":1}\n')
    await expectations(t, data)
  },
)

await t.test(
  'beside a service, a full device ends a command with 1, a closed pipe with 0, or check with 1',
  async (t) => {
    const server = await startServer(t, { dataDir: join(directory, 'served') })
    await server.post('addAndSet', { path: 'a', value: 1 })
    await expectations(t, server.dataDir)
  },
)
