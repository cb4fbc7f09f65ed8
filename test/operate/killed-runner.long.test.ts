/**
 * A test run that is killed leaves nothing running: the runner, its test file, and what that has started (a service with
 * its workers, a tool of it, PostgreSQL, a browser, a machine) end with each other.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { whyNoBrowser } from '../support/browser/browser.js'
import { whyNoMachine } from '../support/machines/machine.js'
import { commandLine, descendantsOf } from '../support/machines/processes.js'
import { until } from '../support/service/server.js'
import { findBinaries } from '../support/stores/postgres-cluster.js'
import { tied } from '../support/tied.js'

const support = join(import.meta.dirname, '../support')

/** Longer than anything here takes on a busy machine. */
const hangMs = 400_000

const runner = `import { startTest, endOf } from '${support}/test-process.js'
const child = startTest([process.argv[2]], process.env)
child.stdout.on('data', (piece) => process.stdout.write(piece))
await endOf(child)
`

const testFile = `import { spawn } from 'node:child_process'
import t from 'tap'
import { startBrowser } from '${support}/browser/browser.js'
import { findBinaries, OwnCluster } from '${support}/stores/postgres-cluster.js'
import { Machine } from '${support}/machines/machine.js'
import { childrenOf, commandLine } from '${support}/machines/processes.js'
import { mainFile, startServer, until } from '${support}/service/server.js'
import { tied } from '${support}/tied.js'

t.test('it never ends', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const engine = new OwnCluster(findBinaries(), process.env.ENGINE_DIRECTORY)
  await engine.make()
  await engine.start()
  await startBrowser(t)
  await Machine.boot(t)
  spawn(...tied(process.execPath, [mainFile, 'import', '--data', server.dataDir]), { stdio: ['pipe', 'ignore', 'inherit'] })
  const isTool = (pid) => commandLine(pid).includes('/cluster/tool/tool-process.js')
  await until('the tool', async () => childrenOf(server.pid).some(isTool) || undefined)
  console.log('# READY')
  await new Promise((resolve) => setTimeout(resolve, 600_000))
})
`

const whyNoEngine = findBinaries() === undefined && 'PostgreSQL is not installed: its end was NOT tested'
const skip = whyNoEngine || whyNoBrowser() || whyNoMachine()

t.test('nothing that a test has started outlives the kill of its runner', { skip }, async (t) => {
  const directory = t.testdir({ 'runner.mjs': runner })
  writeFileSync(join(directory, 'endless.mjs'), testFile)
  const engine = mkdtempSync(join(tmpdir(), 'topicd-killed-'))
  t.teardown(() => rmSync(engine, { recursive: true, force: true }))
  const child = spawn(...tied(process.execPath, [join(directory, 'runner.mjs'), join(directory, 'endless.mjs')]), {
    env: { ...process.env, TAP: '1', ENGINE_DIRECTORY: engine },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  const isReady = async (): Promise<true | undefined> => {
    if (child.exitCode !== null) throw new Error(lines.join('\n'))
    return lines.some((line) => line.includes('# READY')) || undefined
  }
  await until('everything runs', isReady, hangMs)

  const started = new Map(descendantsOf(child.pid ?? NaN).map((pid) => [pid, commandLine(pid)]))
  const commands = [...started.values()]
  for (const part of [
    'endless.mjs',
    '/main.js\0serve',
    '/worker.js',
    '/tool-process.js',
    'bin/postgres',
    'chromium',
    'systemd-nspawn',
    'dbus-daemon',
  ])
    t.ok(
      commands.some((command) => command.includes(part)),
      part,
    )
  child.kill('SIGKILL')
  const left = (): string[] => [...started].flatMap(([pid, command]) => (commandLine(pid) === command ? [command] : []))
  await until('all have ended', async () => left().length === 0 || undefined).catch(() => {})
  t.strictSame(left(), [])
})
