/** A restore of a damaged backup, or one ended by a signal or a kill, leaves no store or the whole one. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { cleanEnv, mainFile, runCommand, until } from '../support/service/server.js'
import { tied } from '../support/tied.js'

const directory = t.testdir()
const file = join(directory, 'backup.mdb')

function fresh(name: string): string {
  const data = join(directory, name)
  mkdirSync(data)
  return data
}

await t.test('a backup is created for the restores below', async (t) => {
  const source = fresh('source')
  const lines = Array.from({ length: 10_000 }, (_, i) => `{"path":"many/${i}","value":${i}}\n`)
  t.match(await runCommand(['import', '--allow-unfinished', '--data', source], {}, lines.join('')), { code: 0 })
  t.match(await runCommand(['backup', file, '--data', source]), { code: 0 })
})

await t.test('a restore finds and names a damaged page in the middle of a backup', async (t) => {
  const damaged = join(directory, 'damaged')
  const bytes = readFileSync(file)
  const page = 4096
  const problems = new Set<string>()
  for (const share of [0.25, 0.5, 0.75]) {
    const offset = Math.floor((bytes.length / page) * share) * page
    writeFileSync(damaged, Buffer.from(bytes).fill(0, offset, offset + page))
    const data = fresh(`damaged-${offset}`)
    const { code, stderr } = await runCommand(['restore', damaged, '--data', data])
    // A page of a large value has only the text of the value, which has no checksum.
    if (code === 0) continue
    t.equal(code, 1)
    // LMDB itself may print a line first.
    t.match(stderr, new RegExp(`^(.*\\n)?topicd: nothing was restored: ${damaged} is damaged: .*\n$`))
    t.notOk(existsSync(join(data, 'topics')))
    problems.add(stderr)
  }
  t.ok(problems.size > 1, `${problems.size} different problems`)
})

interface Restore {
  readonly data: string
  readonly child: ChildProcess
  readonly stderr: () => string
  readonly ended: Promise<unknown>
}

/** Starts a restore, and waits until it copies. */
async function copying(name: string, NODE_OPTIONS = ''): Promise<Restore> {
  const data = fresh(name)
  const child = spawn(...tied(process.execPath, [mainFile, 'restore', file, '--data', data]), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...cleanEnv(), NODE_OPTIONS },
  })
  const ended = once(child, 'close')
  let stderr = ''
  child.stderr.on('data', (piece: Buffer) => (stderr += piece))
  await until('the restore copies', async () => existsSync(join(data, 'topics', 'restore.partial')) || undefined)
  return { data, child, ended, stderr: () => stderr }
}

/** Like a monitoring agent that is loaded into every Node.js process. */
const agent = join(directory, 'agent.mjs')
writeFileSync(agent, 'for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {})')

for (const [signal, whose, NODE_OPTIONS] of [
  ['SIGINT', '', ''],
  ['SIGTERM', ', even if other code listens for it', `--import=${agent}`],
  ['SIGHUP', '', ''],
] as const) {
  await t.test(`a restore ended by ${signal} removes its copy and exits by that signal${whose}`, async (t) => {
    const { data, child, ended } = await copying(signal, NODE_OPTIONS)
    child.kill(signal)
    t.strictSame(await ended, [null, signal])
    t.notOk(existsSync(join(data, 'topics')), 'nothing is left')
  })
}

await t.test('a store that appears during a restore is left unchanged', async (t) => {
  const { data, ended, stderr } = await copying('appears')
  writeFileSync(join(data, 'topics', 'data.mdb'), 'precious')
  t.strictSame(await ended, [1, null])
  t.match(stderr(), /nothing was restored: a store has appeared in \S+/)
  t.equal(readFileSync(join(data, 'topics', 'data.mdb'), 'utf8'), 'precious')
  t.notOk(existsSync(join(data, 'topics', 'restore.partial')))
})

await t.test('a killed restore leaves either no store or the complete one', async (t) => {
  for (const ms of [0, 60]) {
    const { data, child, ended } = await copying(`killed-${ms}`)
    await sleep(ms)
    child.kill('SIGKILL')
    await ended
    if (!existsSync(join(data, 'topics', 'data.mdb')))
      t.match(await runCommand(['restore', file, '--data', data]), { code: 0 }, `again after ${ms} ms`)
    t.match(await runCommand(['check', '--data', data]), { code: 0, stdout: / 0 findings\n$/ })
  }
})
