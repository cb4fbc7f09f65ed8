/**
 * A defect that ends a process is one line in the log, with its stack and the level of an error. The process does not exit with 0, and
 * no failed commit is reported. The defects are planted (support/faults/crash-on-signal.mjs).
 */
import { join } from 'node:path'
import t from 'tap'
import { first } from '../support/elements.js'
import { type LogLine, runCommand, startServer } from '../support/service/server.js'
import { begun, startCommand, toolOf } from '../support/service/tool-client.js'

const planted = join(import.meta.dirname, '../../test/support/faults/crash-on-signal.mjs')
const env = { NODE_OPTIONS: `--import=${planted}` }

function stackOf(line: LogLine): string {
  return (line.err as { stack: string }).stack
}

await t.test('a defect in a worker or the primary is logged with its stack', async (t) => {
  const server = await startServer(t, { workers: 2, env, exitCode: 1 })
  const crashed = async (pid: number, role: string, message: string): Promise<void> => {
    const line = await server.logged('crashed', (line) => line.pid === pid)
    t.match(line, { role, level: 50 })
    t.match(stackOf(line), new RegExp(`Error: ${message}\\n +at .*crash-on-signal`))
  }
  const pid = first(server.workerPids())
  process.kill(pid, 'SIGUSR2')
  await crashed(pid, 'worker', 'planted: thrown')
  const died = await server.logged('worker died')
  t.equal(died.worker, pid)
  t.not(died.code, 0, 'the worker did not exit with 0')
  await server.logged('worker replaced')
  process.kill(server.pid, 'SIGPROF')
  await crashed(server.pid, 'primary', 'planted: rejected')
  t.strictSame(await server.exited, { code: 1, signal: null })
  t.equal(server.output.match(/^\{"level":50.*"msg":"crashed"/gm)?.length, 2, 'the lines have the level of an error')
  t.notMatch(server.output, /commit failed/, 'no failed commit is reported')
  t.notMatch(server.output, /^ +at /m, 'no stack is printed outside the log')
})

await t.test('a defect in a tool is printed with its stack', async (t) => {
  const data = join(t.testdir(), 'db')
  // More than the pipes hold, so that the tool is still running while its output is not read.
  const line = (index: number): string =>
    `${JSON.stringify({ path: `a/${index}`, type: 'json', value: 'x'.repeat(10_000) })}\n`
  const lines = Array.from({ length: 1000 }, (_, index) => line(index)).join('')
  t.equal((await runCommand(['import', '--allow-unfinished', '--data', data], {}, lines)).code, 0)
  const command = startCommand(t, ['export', '--data', data], undefined, env)
  await begun(command)
  process.kill(await toolOf(command.child.pid ?? 0), 'SIGUSR2')
  command.stdout.resume()
  const { code, stderr } = await command.ended
  t.equal(code, 1)
  t.match(stderr, /^\{"level":50.*"role":"tool".*planted: thrown\\n +at .*"msg":"crashed"\}$/m, 'the defect')
  t.match(stderr, /^topicd: the process doing the work died unexpectedly \(exit code 1\)$/m)
})
