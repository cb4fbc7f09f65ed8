/**
 * `topicd restore`: puts a whole backup, or nothing, into a directory without a store.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { mainFile, runCommand, startServer } from '../support/server.js'

const directory = t.testdir()
const file = join(directory, 'backup.mdb')

function fresh(name: string): string {
  const data = join(directory, name)
  mkdirSync(data)
  return data
}

await t.test('a restored store serves the values and the keys of the backup', async (t) => {
  const server = await startServer(t, { dataDir: join(directory, 'db') })
  await server.post('addAndSet', { path: 'a/b', value: 'x'.repeat(50_000) })
  t.match(await server.command('backup', file), { code: 0 })
  const { code, stderr } = await runCommand(['restore', file, '--data', server.dataDir])
  t.equal(code, 1)
  t.match(stderr, /there is a store in \S+ already, and a restore never replaces one; stop the service and move/)

  const before = readFileSync(file)
  const data = fresh('restored')
  t.match(await runCommand(['restore', file, '--data', data]), {
    code: 0,
    stdout: /data\.mdb: \d+ bytes, \d+ records checked; the service can be started/,
    stderr: '',
  })
  t.ok(before.equals(readFileSync(file)), 'the backup is unchanged')
  t.notOk(existsSync(join(data, 'restore.partial')))
  const drill = await startServer(t, { dataDir: data, token: server.token })
  const { status, text } = await drill.post('fetch', { path: 'a/b' })
  t.equal(status, 200)
  t.ok(text.includes('x'.repeat(50_000)), 'the value is whole')
})

await t.test('what is no sound backup is refused, and nothing is left', async (t) => {
  const truncated = join(directory, 'truncated')
  writeFileSync(truncated, readFileSync(file))
  truncateSync(truncated, 9000)
  const foreign = join(directory, 'foreign')
  writeFileSync(foreign, 'precious'.repeat(10_000))
  const data = fresh('refused')
  const cases = [
    { args: [join(directory, 'nowhere')], stderr: /there is no file \S+nowhere\n/ },
    { args: [directory], stderr: /is not a plain file, so it is no backup\n/ },
    { args: [truncated], stderr: /is not a sound backup, and nothing was restored: \S+truncated is damaged/ },
    { args: [foreign], stderr: /nothing was restored: \S+foreign is not an LMDB file/ },
    { args: [file, '--disk-free-bytes-min', '1000000000000000'], stderr: /and 1000000000000000 must stay free\n/ },
    { args: [file, '--store', 'postgres://h/d'], stderr: /the store is PostgreSQL, .* such as pg_restore\n/ },
  ]
  for (const { args, stderr } of cases) {
    t.match(await runCommand(['restore', ...args, '--data', data]), { code: 1, stderr }, args.join(' '))
    t.notOk(existsSync(join(data, 'topics')) || existsSync(join(data, 'restore.partial')))
  }
  const nowhere = await runCommand(['restore', file, '--data', join(directory, 'none')])
  t.match(nowhere, { code: 1, stderr: /there is no directory \S+none; make it/ })
})

await t.test('a restore that is killed leaves no store or the whole one', async (t) => {
  for (let ms = 100; ms <= 700; ms += 100) {
    const data = fresh(`killed-${ms}`)
    const child = spawn(process.execPath, [mainFile, 'restore', file, '--data', data], { stdio: 'ignore' })
    const ended = once(child, 'close')
    await sleep(ms)
    child.kill('SIGKILL')
    await ended
    if (!existsSync(join(data, 'topics', 'data.mdb'))) {
      // The child that checks the copy ends on its own, and holds the lock until then.
      let code = 1
      for (let tries = 0; code !== 0 && tries < 50; tries++) {
        code = (await runCommand(['restore', file, '--data', data])).code ?? 1
      }
      t.equal(code, 0, `again after ${ms} ms`)
    }
    t.match(await runCommand(['check', '--data', data]), { code: 0, stdout: / 0 findings\n$/ })
  }
})
