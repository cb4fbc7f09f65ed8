/** A key whose token cannot be printed is not made or rotated, and the command says so. */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { overWorkers } from '../support/service/over-stores.js'
import { type CommandResult, cleanEnv, mainFile, runCommand } from '../support/service/server.js'

/** Runs a command about keys with its output to a device that is always full. */
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

t.test('with no service running, keys add > /dev/full leaves no key', async (t) => {
  const data = join(t.testdir(), 'db')
  const { code, stderr } = runToNowhere('add', 'lost', '--create', '--data', data)
  t.equal(code, 1)
  t.match(stderr, /^topicd: .*ENOSPC.*no key was created\n/m)
  const again = await runCommand(['keys', 'add', 'lost', '--data', data])
  t.equal(again.code, 0, `the name is free: ${again.stderr}`)
})

await overWorkers(
  t,
  async (t, server) => {
    const { code, stderr } = runToNowhere('add', 'lost', '--data', server.dataDir)
    t.equal(code, 1)
    t.match(stderr, /^topicd: .*ENOSPC.*no key was created\n/m)
    t.notMatch((await server.command('keys', 'list')).stdout, 'lost', 'no such key is listed')
  },
  { store: 'lmdb' },
)

t.test('a name that is taken is refused before any token is printed', async (t) => {
  const data = join(t.testdir(), 'db')
  await runCommand(['keys', 'add', 'taken', '--create', '--data', data])
  const again = await runCommand(['keys', 'add', 'taken', '--data', data])
  t.equal(again.code, 1)
  t.equal(again.stdout, '')
  t.match(again.stderr, /"taken"/)
})

t.test('keys rotate > /dev/full leaves the key its token', async (t) => {
  const data = join(t.testdir(), 'db')
  await runCommand(['keys', 'add', 'kept', '--create', '--data', data])
  const exported = () => runCommand(['export', '--with-keys', '--data', data])
  const before = await exported()
  t.match(before.stdout, '"kept"')
  const { code, stderr } = runToNowhere('rotate', 'kept', '--data', data)
  t.equal(code, 1)
  t.match(stderr, /^topicd: .*ENOSPC.*the key keeps its token\n/m)
  t.strictSame(await exported(), before)
})
