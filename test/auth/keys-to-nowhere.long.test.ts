/** A key whose token cannot be printed is not created or rotated, and the command reports it. */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type CommandResult, cleanEnv, mainFile, runCommand, startServer } from '../support/service/server.js'

/** Runs a keys command with its output to a device that is always full. */
function runToNowhere(...args: readonly string[]): Omit<CommandResult, 'stdout'> {
  const full = openSync('/dev/full', 'w')
  try {
    const { status, stderr } = spawnSync(process.execPath, [mainFile, 'keys', ...args], {
      env: cleanEnv(),
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    })
    return { code: status, stderr }
  } finally {
    closeSync(full)
  }
}

t.test('without a service, keys add and keys rotate change nothing if their output goes to /dev/full', async (t) => {
  const data = join(t.testdir(), 'db')
  const { code, stderr } = runToNowhere('add', 'kept', '--create', '--data', data)
  t.equal(code, 1)
  t.match(stderr, /^topicd: .*ENOSPC.*no key was created\n/m)
  t.equal((await runCommand(['keys', 'add', 'kept', '--data', data])).code, 0, 'the name is free')
  const taken = await runCommand(['keys', 'add', 'kept', '--data', data])
  t.match(taken, { code: 1, stdout: '', stderr: /"kept"/ }, 'a taken name is rejected before any token is printed')
  const exported = () => runCommand(['export', '--with-keys', '--data', data])
  const before = await exported()
  t.match(before.stdout, '"kept"')
  t.match(runToNowhere('rotate', 'kept', '--data', data), { code: 1, stderr: /ENOSPC.*the key keeps its token\n/ })
  t.strictSame(await exported(), before)
})

t.test('with a running service, keys add leaves no key if its output goes to /dev/full', async (t) => {
  const server = await startServer(t)
  const { code, stderr } = runToNowhere('add', 'lost', '--data', server.dataDir)
  t.equal(code, 1)
  t.match(stderr, /^topicd: .*ENOSPC.*no key was created\n/m)
  t.notMatch((await server.command('keys', 'list')).stdout, 'lost', 'no such key is listed')
})
