/**
 * Damage that cannot be found before the store is opened: a signal may kill the native code that reads it. That code runs in its own
 * process, and the command reports the signal and the place.
 */
import { cpSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runCommand, startServer } from '../support/service/server.js'
import { begun, startCommand, toolOf } from '../support/service/tool-client.js'

/** More than the pipes hold, so that an export blocks midway until the test continues to read. */
const lines = Array.from({ length: 4000 }, (_, i) => `{"path":"t/${i}","value":"${'x'.repeat(1000)}"}\n`).join('')

const directory = t.testdir()

const source = join(directory, 'source')
t.match(await runCommand(['import', '--allow-unfinished', '--data', source], {}, lines), { code: 0, stderr: '' })

function filled(name: string): string {
  const data = join(directory, name)
  cpSync(source, data, { recursive: true })
  return data
}

const fileOf = (data: string): string => join(data, 'topics', 'data.mdb')

/** Truncates the file under a running export; returns the export's standard error. */
async function truncatedMidway(t: Test, data: string): Promise<string> {
  const running = startCommand(t, ['export', '--data', data])
  await begun(running)
  truncateSync(fileOf(data), 16 * 4096)
  running.stdout.resume()
  const { code, stderr } = await running.ended
  t.equal(code, 1)
  return stderr
}

await t.test('a command whose file is truncated while it runs names the damaged file', async (t) => {
  const data = filled('alone')
  const stderr = await truncatedMidway(t, data)
  t.equal(
    stderr,
    `topicd: the store in ${data} is damaged: the process reading ${fileOf(data)} crashed (SIGBUS); restore a backup with "topicd restore"\n`,
  )
})

await t.test('with a service, a command whose file is truncated reports that the store may be damaged', async (t) => {
  const data = filled('served')
  const server = await startServer(t, { dataDir: data, workers: 1, exitCode: undefined, check: false })
  const stderr = await truncatedMidway(t, data)
  t.match(
    stderr,
    /^topicd: the service's process doing the work died .*; if a fault .* the store in \S+served may be damaged\n$/,
  )
  server.signal('SIGKILL')
})

await t.test('a command whose process is killed names the signal and leaves the data directory unlocked', async (t) => {
  const data = filled('killed')
  const running = startCommand(t, ['export', '--data', data])
  await begun(running)
  process.kill(await toolOf(running.child.pid ?? 0), 'SIGKILL')
  running.stdout.resume()
  const { code, stderr } = await running.ended
  t.equal(code, 1)
  t.equal(stderr, 'topicd: the process doing the work died unexpectedly (SIGKILL)\n')
  t.match(await runCommand(['check', '--data', data]), { code: 0 }, 'the directory is free again')
})
