/**
 * A backup interrupted by a full disk, a stop of the service or the exit of its caller leaves no file behind and does not disturb the
 * service. A backup that its caller would not find is rejected before it starts.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { patchedProgram } from '../support/faults/patched.js'
import { mainFile, type Server, startServer, until } from '../support/service/server.js'
import { gone, type Running, startCommand, toolOf } from '../support/service/tool-client.js'

const mebibyte = 1024 * 1024
const directory = t.testdir()
const isRoot = process.getuid?.() === 0
const needsRoot = isRoot ? false : 'a mount needs root'

/** Replaces lmdb's copy with one that starts like the copy of a large store and never ends. */
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

/** Starts a backup, and waits until it copies. @param parent the service whose child does the work; the command if undefined */
async function start(t: Test, file: string, dataDir: string, parent?: Server): Promise<Running & { tool: number }> {
  const running = startCommand(t, ['backup', file, '--data', dataDir], program)
  await until('the copy starts', async () => existsSync(join(`${file}.partial`, 'topics', 'data.mdb')) || undefined)
  return { ...running, tool: await toolOf(parent?.pid ?? running.child.pid ?? 0) }
}

await t.test('a backup removes its file if the command or the service exits', async (t) => {
  const file = join(directory, 'backup.mdb')
  const isRemoved = async (tool: number, what: string): Promise<void> => {
    await gone(tool)
    const left = readdirSync(directory).filter((name) => name.startsWith('backup.mdb'))
    t.strictSame(left, [], what)
  }
  const dataDir = join(directory, 'db')
  const server = await startServer(t, { dataDir, program })
  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    const { child, tool } = await start(t, file, dataDir, server)
    child.kill(signal)
    await isRemoved(tool, `the command is ended by ${signal} while a service runs`)
  }
  const stopped = await start(t, file, dataDir, server)
  server.signal('SIGTERM')
  await isRemoved(stopped.tool, 'the service stops')
  t.match(await stopped.ended, { code: 1, stderr: 'topicd: the service is stopping\n' })
  await server.stop()
  const alone = await start(t, file, dataDir)
  alone.child.kill('SIGINT')
  await isRemoved(alone.tool, 'the command is interrupted, without a service')
  const killed = await startServer(t, { dataDir, program, token: server.token, exitCode: undefined })
  const { tool } = await start(t, file, dataDir, killed)
  killed.signal('SIGKILL')
  await isRemoved(tool, 'the service is killed')
})

await t.test('a backup that leaves too little space stops and removes its file', { skip: needsRoot }, async (t) => {
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
    /^topicd: the backup was stopped: only \d+ bytes are free on its disk, and 16777216 must stay free\n$/,
  )
  t.strictSame(readdirSync(disk), ['db'])
  await until(
    'writes are accepted again',
    async () => (await server.post('addAndSet', { path: 'a', value: 1 })).status === 200 || undefined,
  )
  t.equal(server.timesLogged('worker died'), 0, 'no worker died')
})

await t.test('a backup is rejected if its directory differs for the service', { skip: needsRoot }, async (t) => {
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
    /^topicd: the service sees a different directory at \S+seen than this command, .*PrivateTmp.*\/var\/lib\/topicd-backups with the unit\n$/,
  )
})
