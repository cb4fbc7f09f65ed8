/** `npm start`: the service is npm's own child, so stopping npm stops the service cleanly. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { cleanEnv } from '../support/service/server.js'
import { tied } from '../support/tied.js'

t.test('a SIGTERM to npm start drains the service', async (t) => {
  const env = {
    ...cleanEnv(),
    TOPICD_DATA: join(t.testdir(), 'db'),
    TOPICD_PORT: '0',
    TOPICD_ADMIN_PORT: '0',
    TOPICD_WORKERS: '1',
  }
  // Without its prestart, which would rebuild the program while other tests use it.
  const npm = spawn(...tied('npm', ['start', '--ignore-scripts']), {
    cwd: join(import.meta.dirname, '../..'),
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let primary = 0
  t.teardown(() => {
    npm.kill('SIGKILL')
    if (alive(primary)) process.kill(primary, 'SIGKILL')
  })
  const closed = once(npm, 'close')
  const messages: string[] = []
  for await (const line of createInterface({ input: npm.stdout })) {
    if (!line.startsWith('{')) continue
    const { msg, pid } = JSON.parse(line) as { msg: string; pid: number }
    messages.push(msg)
    if (msg !== 'listening') continue
    primary = pid
    npm.kill('SIGTERM')
  }
  await closed
  t.ok(messages.includes('stopping'), 'the service got the signal')
  t.equal(messages.at(-1), 'stopped', 'the last line reports the stop')
  t.notOk(alive(primary), 'no process is left behind')
})

function alive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch {
    return false
  }
}
