/** `topicd reload` exits with 0 once the workers have been replaced; otherwise it reports the reason and exits with 1. */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { overwriteModule, patchedProgram, replaceModule } from '../support/faults/patched.js'
import { cleanEnv, mainFile, runCommand, type Server, startServer, until } from '../support/service/server.js'
import { tied } from '../support/tied.js'

t.setTimeout(600_000)

/** Starts a server of two workers, with a settings file that the test writes with `set`. */
async function start(
  t: Test,
  directory: string,
  program?: string,
): Promise<{ server: Server; set: (lines: string) => void }> {
  mkdirSync(directory, { recursive: true })
  const settings = join(directory, 'topicd.env')
  const set = (lines: string): void => writeFileSync(settings, lines)
  set('')
  const server = await startServer(t, {
    workers: 2,
    dataDir: join(directory, 'db'),
    flags: ['--settings', settings],
    program,
  })
  return { server, set }
}

const { server, set } = await start(t, join(t.testdir(), 'shared'))

/** Resolves when the shared server has logged `msg` more than `before` times. */
async function loggedAgain(msg: string, before: number): Promise<void> {
  await until(`"${msg}" is logged`, async () => (server.timesLogged(msg) > before ? true : undefined), 60_000)
}

const reloaded = /^2 workers replaced in \d+\.\d s, version \d+\.\d+\.\d+\n$/

await t.test('reload exits once every worker is new and has the new settings', async (t) => {
  const before = server.workerPids()
  set('TOPICD_PAGE_SIZE_MAX=7\n')
  const { code, stdout, stderr } = await server.command('reload')
  const after = server.workerPids()
  t.equal(code, 0, stderr)
  t.match(stdout, reloaded)
  t.equal(after.length, 2)
  t.notOk(
    after.some((pid) => before.includes(pid)),
    'no old worker is left',
  )
  for (let i = 0; i < server.client.connections; i++) {
    t.match(await server.post('fetch', { selector: '*.*', size: 8 }), { code: 'invalid_parameter' })
  }
})

await t.test('reload names a changed setting that needs a restart', async (t) => {
  set('TOPICD_ADMIN_HOST=127.0.0.2\nTOPICD_DRAIN_MS=2000\n')
  t.match(await server.command('reload'), {
    code: 0,
    stdout: reloaded,
    stderr: 'topicd: TOPICD_ADMIN_HOST has changed; the change needs a restart\n',
  })
})

await t.test('reload uses the build that is now on disk', async (t) => {
  const directory = t.testdir()
  const program = patchedProgram(directory, 'base/version.js', 'export * from "./sound-version.js"\n')
  const { server } = await start(t, directory, program)

  await t.test('reload prints the new version and reports that the primary still has the old version', async (t) => {
    overwriteModule(program, 'base/version.js', 'export const version = "9.8.7"\n')
    const { code, stdout, stderr } = await server.command('reload')
    t.equal(code, 0)
    t.match(stdout, /, version 9\.8\.7\n$/)
    t.match(stderr, /^topicd: the primary still has version \d+\.\d+\.\d+; a restart updates it\n$/)
  })

  await t.test('reload fails if a new worker does not start, and the old workers keep serving', async (t) => {
    const before = server.workerPids()
    overwriteModule(program, 'cluster/worker/worker.js', 'process.exit(21)\n')
    const { code, stdout, stderr } = await server.command('reload')
    t.equal(code, 1)
    t.equal(stdout, '')
    t.match(stderr, /^topicd: not reloaded: process \d+ exited with status 21 before it opened the store\n$/)
    t.strictSame(server.workerPids(), before, 'the same workers')
    t.match(await server.post('fetch', { path: 'nothing' }), { code: 'no_such_topic' })
  })
})

/** A writer that exits soon after it has opened the store. */
const shortLived = `
const send = process.send.bind(process)
process.send = (message) => {
  if (message.kind === 'opened') setTimeout(() => process.exit(33), 50)
  return send(message)
}
await import('./sound-writer.js')
`

await t.test('reload tries the build of the writer that is now on disk', async (t) => {
  const directory = t.testdir()
  const program = patchedProgram(directory, 'base/version.js', 'export * from "./sound-version.js"\n')
  const { server } = await start(t, directory, program)
  const writes = async (t: Test): Promise<void> => {
    t.equal((await server.post('addAndSet', { path: 'a', value: 1 })).status, 200, 'the service writes')
  }
  const writerFile = 'cluster/writer/writer.js'

  await t.test('reload fails if the new writer does not start, and the old writer keeps writing', async (t) => {
    const before = server.writerPid()
    const workers = server.workerPids()
    const sound = overwriteModule(program, writerFile, 'process.exit(21)\n')
    const { code, stderr } = await server.command('reload')
    t.equal(code, 1)
    t.match(stderr, /^topicd: not reloaded: process \d+ exited with status 21 before it opened the store\n$/)
    t.equal(server.writerPid(), before, 'the same writer')
    t.strictSame(server.workerPids(), workers, 'the same workers')
    await writes(t)
    overwriteModule(program, writerFile, sound)
  })

  await t.test('reload fails if the new writer exits early, and a writer of the old build takes over', async (t) => {
    replaceModule(program, writerFile, shortLived)
    const workers = server.workerPids()
    const { code, stderr } = await server.command('reload')
    t.equal(code, 1)
    t.match(stderr, /^topicd: not reloaded: process \d+ exited soon after it started to write\n$/)
    await server.logged('writer replaced')
    const writer = server.writerPid()
    await writes(t)
    await server.spareLoaded()
    t.equal(server.writerPid(), writer, 'the writer lives')
    t.strictSame(server.workerPids(), workers, 'the same workers')
  })
})

await t.test('each of several concurrent reloads reports its own outcome', async (t) => {
  set('')
  const before = server.timesLogged('rolling restart')
  const first = server.command('reload')
  await loggedAgain('rolling restart', before)
  set('TOPICD_PAGE_SIZE_MAX=none\n')
  const [second, third] = await Promise.all([server.command('reload'), server.command('reload')])
  t.match(await first, { code: 0, stdout: reloaded }, 'the reload from before the wrong setting')
  for (const later of [second, third]) t.match(later, { code: 1, stderr: /PAGE_SIZE_MAX/ }, 'a later reload')
})

await t.test('reload fails if the service stops first', async (t) => {
  const { server } = await start(t, t.testdir())
  const reload = server.command('reload')
  await server.logged('rolling restart')
  await server.stop()
  const { code, stderr } = await reload
  t.equal(code, 1)
  t.match(
    stderr,
    /^topicd: (not reloaded: the service is stopping|the service stopped before the reload was complete)\n$/,
  )
})

await t.test('reload reports a missing service and creates nothing', async (t) => {
  const dataDir = join(t.testdir(), 'nothing')
  t.strictSame(await runCommand(['reload', '--data', dataDir]), {
    code: 1,
    stdout: '',
    stderr: `topicd: no service is running on the data directory ${dataDir}\n`,
  })
  t.notOk(existsSync(dataDir))
})

await t.test('reload reports that it has no permission to connect to the service', async (t) => {
  const socket = join(server.dataDir, 'control.sock')
  // Root may connect to any socket, so root runs the command as another account. The mode keeps all other accounts out.
  const isRoot = process.getuid?.() === 0
  chmodSync(server.dataDir, 0o755)
  chmodSync(socket, 0)
  const { status, stderr } = spawnSync(process.execPath, [mainFile, 'reload', '--data', server.dataDir], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
    ...(isRoot ? { uid: 65534, gid: 65534 } : {}),
  })
  chmodSync(socket, 0o600)
  t.equal(status, 1)
  // The test runner's own hook may print more after the message.
  t.equal(
    stderr.split('\n')[0],
    `topicd: the service that uses ${server.dataDir} cannot be reached (EACCES); run this command as the service's account`,
  )
})

await t.test('a reload continues if its command is killed', async (t) => {
  set('')
  const begun = server.timesLogged('rolling restart')
  const done = server.timesLogged('rolling restart done')
  const command = [mainFile, 'reload', '--data', server.dataDir]
  const caller = spawn(...tied(process.execPath, command), { env: cleanEnv(), stdio: 'ignore' })
  await loggedAgain('rolling restart', begun)
  caller.kill('SIGKILL')
  await loggedAgain('rolling restart done', done)
  t.match(await server.command('reload'), { code: 0, stdout: reloaded })
})

await t.test('reload exits only after systemd has received READY=1', async (t) => {
  const directory = t.testdir()
  const sent = join(directory, 'sent')
  const programs = join(directory, 'bin')
  mkdirSync(programs)
  // Slow, so that a reload that does not wait for READY=1 exits first.
  writeFileSync(join(programs, 'systemd-notify'), `#!/bin/sh\nsleep 1\necho "$@" >> '${sent}'\n`)
  chmodSync(join(programs, 'systemd-notify'), 0o755)
  const env = { PATH: `${programs}:${process.env.PATH}`, NOTIFY_SOCKET: join(directory, 'nobody') }
  const server = await startServer(t, { dataDir: join(directory, 'db'), env })
  // Lines with only a status may appear in between, if a busy worker is silent for seconds.
  const lines = (): string[] => (existsSync(sent) ? readFileSync(sent, 'utf8').trim().split('\n') : [])
  const states = (): string[] => lines().filter((line) => /READY=1|RELOADING=1/.test(line))
  await until('READY=1 is sent', async () => (states().length > 0 ? true : undefined))
  t.equal((await server.command('reload')).code, 0)
  t.match(states()[1], 'RELOADING=1')
  t.match(states()[2], 'READY=1')
})
