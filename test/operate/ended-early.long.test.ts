/**
 * If a process dies before it opened the store, for example because memory, threads or a library are missing, no message mentions a damaged store,
 * although damage causes the same signals.
 */
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { Config } from '../../dist/settings/config.js'
import { overwriteModule, patchedProgram } from '../support/faults/patched.js'
import { runCommand, startServer } from '../support/service/server.js'
import { startCommand } from '../support/service/tool-client.js'
import { spin } from '../support/stores/store.js'

const directory = t.testdir()

/** Exits like Node.js when it cannot start a thread, without printing stacks. */
const dies = "import { closeSync } from 'node:fs'\ncloseSync(2)\nprocess.abort()\n"

const program = patchedProgram(directory, 'cluster/tool/tool-process.js', dies)

t.test('without a service, a command reports that its process died before it did anything', async (t) => {
  const data = join(directory, 'alone')
  mkdirSync(data)
  t.match(await runCommand(['keys', 'add', 'first', '--create', '--data', data]), { code: 0 })
  const { code, stderr } = await startCommand(t, ['check', '--data', data], program).ended
  t.equal(code, 1)
  t.equal(
    stderr,
    'topicd: nothing was done: the process died before it opened the store (SIGABRT); the system may be out of memory or threads, or a library may be missing\n',
  )
})

t.test('the service logs that a process died before it did anything, and the command reports it', async (t) => {
  const server = await startServer(t, { workers: 1, program })
  const said =
    /process \d+ was killed by SIGABRT before it opened the store: the system may be out of memory or threads, or a library may be missing/
  const { code, stderr } = await server.command('check')
  t.equal(code, 1)
  t.match(stderr, said)
  overwriteModule(program, 'cluster/worker/worker.js', dies)
  const reloaded = await server.command('reload')
  t.equal(reloaded.code, 1)
  t.match(reloaded.stderr, said)
  t.match(server.output, said, 'the log has the reason')
  t.notMatch(server.output, 'damaged')
})

t.test('the end of a process that died before it got its work is reported', async (t) => {
  overwriteModule(
    program,
    'cluster/tool/tool-process.js',
    "process.send('loaded')\nprocess.kill(process.pid, 'SIGKILL')\n",
  )
  const module = join(dirname(program), 'commands/store/standalone-tool.js')
  const { runAlone } = (await import(module)) as typeof import('../../dist/commands/store/standalone-tool.js')
  const work = { kind: 'tool', work: { tool: 'check', options: {} } } as const
  const { whyEnded, close } = runAlone({ data: directory } as Config, undefined, work)
  // The process is dead when its message is read.
  spin(1000)
  t.match(await whyEnded(), { message: 'the process doing the work died unexpectedly (SIGKILL)' })
  await close()
})
