/** What a command prints and cannot be written ends it with 1 and the reason; a reader that has gone ends it with 0, unless it is a check. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runCommand, startServer } from '../support/server.js'
import { startCommand } from '../support/tool-client.js'

const mainFile = join(import.meta.dirname, '../../dist/main.js')
const directory = t.testdir()

function toFullDevice(args: readonly string[]): { readonly code: number | null; readonly stderr: string } {
  const full = openSync('/dev/full', 'w')
  const { status, stderr } = spawnSync(process.execPath, [mainFile, ...args], {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  })
  closeSync(full)
  return { code: status, stderr }
}

async function claims(t: Test, data: string): Promise<void> {
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
    // A check that was broken off has not found the store sound.
    const expected =
      command[0] === 'check'
        ? { code: 1, stderr: 'topicd: nobody reads standard output; the check was broken off\n' }
        : { code: 0, stderr: '' }
    t.strictSame(await ended, expected, `${command[0]} with a reader that has gone`)
  }
}

await t.test('without a service', async (t) => {
  const data = join(directory, 'alone')
  await runCommand(['import', '--data', data], {}, '{"path":"a","value":1}\n')
  await claims(t, data)
})

await t.test('beside a service', async (t) => {
  const server = await startServer(t, { dataDir: join(directory, 'served') })
  await server.post('addAndSet', { path: 'a', value: 1 })
  await claims(t, server.dataDir)
})
