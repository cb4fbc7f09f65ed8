/**
 * A backup that is interrupted, because its disk fills up, the service stops or its caller goes, leaves no file behind
 * and does not disturb the service. A backup that its caller would not find is refused before it is made.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { patchedProgram } from '../support/faults/patched.js'
import { mainFile, runCommand, type Server, startServer, until } from '../support/service/server.js'
import { gone, startCommand, toolOf } from '../support/service/tool-client.js'

const mebibyte = 1024 * 1024
const directory = t.testdir()
const isRoot = process.getuid?.() === 0
const needsRoot = isRoot ? false : 'a mount needs root'

/** Replaces lmdb's copy by one that begins, like that of a large store, and never ends. */
const slowCopy = `
import { writeFileSync, appendFileSync } from 'node:fs'
import { join } from 'node:path'
import * as sound from './sound-backup.js'
export function backup(copy, ...rest) {
  const slow = (directory) => new Promise(() => {
    const file = join(directory, 'data.mdb')
    writeFileSync(file, '')
    setInterval(() => { try { appendFileSync(file, Buffer.alloc(1024 * 1024)) } catch {} }, 50)
  })
  return sound.backup(slow, ...rest)
}
`

const program = patchedProgram(join(directory, 'patched'), 'store/lmdb/file/backup.js', slowCopy)

async function copying(file: string): Promise<void> {
  await until('the copy has begun', async () => existsSync(join(`${file}.partial`, 'topics', 'data.mdb')) || undefined)
}

const serve = (t: Test, name: string, flags: readonly string[] = []): Promise<Server> =>
  startServer(t, { dataDir: join(directory, name), program, flags })

await t.test('a stop of the service ends a backup within 2 s and removes its file', async (t) => {
  const server = await serve(t, 'stopped')
  const file = join(directory, 'stopped.mdb')
  const running = startCommand(t, ['backup', file, '--data', server.dataDir], program)
  await copying(file)
  const tool = await toolOf(server.pid)
  server.signal('SIGTERM')
  await gone(tool)
  t.match(await running.ended, { code: 1, stderr: 'topicd: the service is stopping\n' })
  t.strictSame(
    readdirSync(directory).filter((name) => name.startsWith('stopped.mdb')),
    [],
  )
})

for (const signal of ['SIGINT', 'SIGKILL'] as const) {
  await t.test(
    `a backup whose command is ended by ${signal} ends and removes its file, beside a service and without one`,
    async (t) => {
      const server = await serve(t, signal)
      for (const parent of ['service', 'command']) {
        if (parent === 'command') await server.stop()
        const file = join(directory, `${parent}-${signal}.mdb`)
        const running = startCommand(t, ['backup', file, '--data', server.dataDir], program)
        await copying(file)
        const tool = await toolOf(parent === 'service' ? server.pid : (running.child.pid ?? 0))
        running.child.kill(signal)
        await gone(tool)
        t.notOk(existsSync(`${file}.partial`), parent)
      }
    },
  )
}

await t.test('a backup ends and removes its file when the service is killed', async (t) => {
  const server = await startServer(t, { dataDir: join(directory, 'killed'), program, exitCode: undefined })
  const file = join(directory, 'killed.mdb')
  startCommand(t, ['backup', file, '--data', server.dataDir], program)
  await copying(file)
  const tool = await toolOf(server.pid)
  server.signal('SIGKILL')
  await gone(tool)
  t.notOk(existsSync(`${file}.partial`))
})

await t.test(
  'a backup that leaves too little of the disk free ends, says so and removes what it wrote',
  { skip: needsRoot },
  async (t) => {
    const disk = mkdtempSync(join(tmpdir(), 'topicd-disk-'))
    t.teardown(() => {
      spawnSync('umount', ['-l', disk])
      rmSync(disk, { recursive: true, force: true })
    })
    t.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${64 * mebibyte}`, 'tmpfs', disk]).status, 0)
    const server = await startServer(t, {
      dataDir: join(disk, 'db'),
      program,
      flags: ['--disk-free-bytes-min', String(16 * mebibyte)],
    })
    const args = ['backup', join(disk, 'copy.mdb'), '--data', server.dataDir]
    const { code, stderr } = await startCommand(t, args, program).ended
    t.equal(code, 1)
    t.match(
      stderr,
      /^topicd: only \d+ bytes are left on its disk, and 16777216 must stay free; the backup was stopped\n$/,
    )
    t.strictSame(readdirSync(disk), ['db'])
    await until(
      'writes are accepted again',
      async () => (await server.post('addAndSet', { path: 'a', value: 1 })).status === 200 || undefined,
    )
    t.equal(server.timesLogged('worker died'), 0, 'no worker died')
  },
)

await t.test(
  'a backup is refused, before anything is copied, if the service sees another directory at its path',
  { skip: needsRoot },
  async (t) => {
    const seen = join(directory, 'seen')
    mkdirSync(seen)
    // The shell mounts a private file system over the directory, then becomes the service.
    const wrapper = join(directory, 'private.mjs')
    writeFileSync(
      wrapper,
      `import { spawn } from 'node:child_process'
const child = spawn('unshare', ['-m', '--propagation', 'private', 'sh', '-c', 'mount -t tmpfs tmpfs "$0" && exec "$@"', ${JSON.stringify(seen)},
  process.execPath, ${JSON.stringify(mainFile)}, ...process.argv.slice(2)], { stdio: 'inherit' })
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('exit', (code) => process.exit(code ?? 1))
`,
    )
    const server = await startServer(t, { dataDir: join(directory, 'private'), program: wrapper })
    const file = join(seen, 'copy.mdb')
    const { code, stderr } = await server.command('backup', file)
    t.equal(code, 1)
    t.match(
      stderr,
      /^topicd: the service sees a different directory at \S+seen than you do, .*PrivateTmp.*\/var\/lib\/topicd-backups under the unit\n$/,
    )
    const elsewhere = join(directory, 'elsewhere.mdb')
    t.match(await server.command('backup', elsewhere), { code: 0 }, 'a directory that both see is accepted')
    t.ok(existsSync(elsewhere))
    await server.stop()
    t.match(
      await runCommand(['backup', file, '--data', server.dataDir]),
      { code: 0 },
      'without the service the refused path is accepted',
    )
  },
)
