/**
 * A defect of our own that ends a process: one line in the log, with an error's priority and the stack, an exit that is no
 * success; and never a word about commits, which have not failed. The defects are planted (support/crash-on-signal.mjs).
 */
import { join } from 'node:path'
import t from 'tap'
import { type LogLine, startServer } from './support/server.js'

const planted = join(import.meta.dirname, 'support/crash-on-signal.mjs')
const env = { NODE_OPTIONS: `--import=${planted}`, JOURNAL_STREAM: '9:1' }

function stackOf(line: LogLine): string {
  return (line.err as { stack: string }).stack
}

for (const [signal, message] of [['SIGUSR2', 'planted: thrown'], ['SIGPROF', 'planted: rejected']] as const) {
  await t.test(`in a worker (${message}): it is logged with its stack, and the worker is replaced`, async (t) => {
    const server = await startServer(t, { workers: 2, env })
    const [pid] = server.workerPids()
    process.kill(pid, signal)
    const crashed = await server.logged('crashed')
    t.match(crashed, { pid, role: 'worker', level: 50 })
    t.match(stackOf(crashed), new RegExp(`Error: ${message}\\n +at .*crash-on-signal`))
    const died = await server.logged('worker died')
    t.equal(died.worker, pid)
    t.not(died.code, 0, 'its end is no success')
    await server.logged('worker replaced')
    t.match(server.output, /^<3>\{.*"msg":"crashed"/m, 'the journal knows it as an error')
    t.notMatch(server.output, /commit failed/, 'no commit is said to have failed')
    t.notMatch(server.output, /^ +at /m, 'no stack lies about beside the log')
  })

  await t.test(`in the primary (${message}): it is logged with its stack, and the service ends with 1`, async (t) => {
    const server = await startServer(t, { env, exitCode: 1 })
    process.kill(server.pid, signal)
    const crashed = await server.logged('crashed')
    t.match(crashed, { pid: server.pid, role: 'primary', level: 50 })
    t.match(stackOf(crashed), message)
    t.strictSame(await server.exited, { code: 1, signal: null })
    t.match(server.output, /^<3>\{.*"msg":"crashed"/m, 'the journal knows it as an error')
    t.notMatch(server.output, /^ +at /m, 'no stack lies about beside the log')
  })
}
