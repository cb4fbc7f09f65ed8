/** The shipped units and settings file, checked by systemd's own tools and compared with the program. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { exitCodes } from '../../dist/base/exit-codes.js'
import { readConfig } from '../../dist/settings/config.js'
import { environmentName, settingTable } from '../../dist/settings/table.js'
import { present } from '../support/elements.js'
import { startServer, until } from '../support/service/server.js'

const directory = t.testdir()

const shipped = (name: string): string => join(import.meta.dirname, '../../systemd', name)

const drainMs = Number(settingTable['drain-ms'].default)

/** The grace period after the drain timeout, before SIGKILL: src/cluster/primary/workers.ts. */
const drainGraceMs = 3000

/** Maximum concurrent tools: src/cluster/primary/control-requests.ts. */
const toolsMax = 8

/** Maximum threads of a process, as counted in the unit's comment. */
const threadsMax = 11

/** The highest exposure that each unit may have, as systemd measures it. */
const exposureMax = {
  'topicd.service': 1.3,
  'topicd@.service': 1.3,
  'topicd-backup.service': 0.8,
  'topicd-backup@.service': 0.8,
} as const

const timers = ['topicd-backup.timer', 'topicd-backup@.timer'] as const

const analyze = (...args: readonly string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' })

const missing =
  analyze('--version').error !== undefined && 'systemd-analyze is not installed: the unit was NOT verified'

await t.test('systemd finds no fault in the units', { skip: missing }, async (t) => {
  const units = [...Object.keys(exposureMax), ...timers]
  const { stdout, stderr } = analyze('verify', ...units.map(shipped))
  // The output also reports other units of this machine, and that the program and its manual page are not installed here.
  const own = `${stdout}${stderr}`
    .split('\n')
    .filter((line) => line.includes('topicd') && !/is not executable|Command 'man topicd\(8\)' failed/.test(line))
  t.strictSame(own, [])
})

await t.test('the systemd exposure level of each unit is within its limit', { skip: missing }, async (t) => {
  for (const [unit, most] of Object.entries(exposureMax)) {
    const { stdout, stderr } = analyze('security', '--offline=yes', '--no-pager', shipped(unit))
    const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1])
    t.ok(exposure <= most, `${unit}: ${exposure}, at most ${most} ${stderr}`)
  }
})

/** The lines of a unit without its comments. */
function linesOf(unit: string): readonly string[] {
  const lines = readFileSync(shipped(unit), 'utf8').split('\n')
  return lines.filter((line) => line !== '' && !line.startsWith('#'))
}

await t.test('the unit of an instance differs only in names, files and directories', async (t) => {
  const names = (line: string): string =>
    line
      .replace('StateDirectory=topicd topicd-backups', 'StateDirectory=topicd@%i topicd@%i/data topicd@%i/backups')
      .replace(/^ConfigurationDirectory=.*/, 'ConfigurationDirectory=topicd topicd/instances')
      .replace('--into /var/lib/topicd-backups', '--into /var/lib/topicd@%i/backups')
      .replace(/\/var\/lib\/topicd(?= |$)/, '/var/lib/topicd@%i/data')
      .replace('/etc/topicd/topicd.env', '/etc/topicd/instances/%i.env')
      .replace(/^(SyslogIdentifier=.*)$/, '$1@%i')
      .replace('After=topicd.service', 'After=topicd@%i.service')
      .replace('Description=Topic tree over HTTP', 'Description=Topic tree over HTTP, instance %i')
      .replace(/^(Description=.*of the topics)$/, '$1 of instance %i')
  for (const unit of ['topicd.service', 'topicd-backup.service', 'topicd-backup.timer']) {
    t.strictSame(linesOf(unit.replace('.', '@.')), linesOf(unit).map(names), unit)
  }
})

await t.test('a backup is confined like the service, and has no network', async (t) => {
  const confinement = (unit: string): readonly string[] => {
    const lines = linesOf(unit)
    return lines.slice(lines.indexOf('NoNewPrivileges=yes')).filter((line) => /^[A-Z]\w+=/.test(line))
  }
  const service = confinement('topicd.service').filter((line) => !line.startsWith('WantedBy='))
  const families = (line: string): string => line.replace(/^(RestrictAddressFamilies=).*/, '$1AF_UNIX')
  t.strictSame(confinement('topicd-backup.service'), service.map(families))
})

await t.test('the settings file names every setting with its default, commented out', async (t) => {
  const text = readFileSync(shipped('topicd.env'), 'utf8')
  const notInTheFile = ['data', 'settings', 'first-key']
  for (const [name, { default: usual }] of Object.entries(settingTable)) {
    if (notInTheFile.includes(name)) continue
    // The number of cores differs from machine to machine.
    const value = name === 'workers' ? '\\d+' : usual.replace(/[/.]/g, '\\$&')
    t.match(text, new RegExp(`^#${environmentName(name)}=${value}$`, 'm'), name)
  }
  t.notMatch(text, /^[^#\n]/m, 'the file sets nothing')
})

await t.test('every line of the settings file is valid when uncommented', async (t) => {
  const file = join(t.testdir(), 'topicd.env')
  writeFileSync(file, readFileSync(shipped('topicd.env'), 'utf8').replaceAll('#TOPICD_', 'TOPICD_'))
  const { settings: _, workers: __, ...config } = readConfig({ settings: file })
  const { settings: ___, workers: ____, ...usual } = readConfig({})
  t.strictSame(config, usual)
})

/** The unit's directives; of a repeated one, the last. */
function directivesOf(unit: string): ReadonlyMap<string, string> {
  return new Map([...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]))
}

/** A time span in ms, in seconds or minutes as this unit writes it. */
function spanMs(text: string | undefined): number {
  const [, count, unit] = /^(\d+)(s|min)$/.exec(text ?? '') ?? []
  return Number(count) * (unit === 'min' ? 60_000 : 1000)
}

await t.test('the service unit gives the program the time, paths and permissions that it needs', async (t) => {
  const unit = readFileSync(shipped('topicd.service'), 'utf8')
  const directives = directivesOf(unit)
  t.ok(spanMs(directives.get('TimeoutStopSec')) > drainMs + drainGraceMs, 'a drain ends before systemd kills it')
  t.notOk(directives.has('MemoryDenyWriteExecute'), 'V8 compiles code at run time')
  t.match(unit, '# - MemoryDenyWriteExecute:', 'the unit explains the omission')
  t.match(directives.get('ExecStart'), '--data /var/lib/topicd --settings /etc/topicd/topicd.env')
  t.match(directives.get('RestrictAddressFamilies'), /AF_INET AF_INET6 AF_UNIX/)
  t.equal(directives.get('NotifyAccess'), 'all', 'systemd-notify is a child of the main process')
})

await t.test('a reload of the unit is given enough time for sixteen workers to drain', async (t) => {
  const directives = directivesOf(readFileSync(shipped('topicd.service'), 'utf8'))
  const program = directives.get('ExecStart')?.split(' serve ')[0]
  t.equal(
    directives.get('ExecReload'),
    `${program} reload --data ${/--data (\S+)/.exec(directives.get('ExecStart') ?? '')?.[1]}`,
  )
  t.ok(
    spanMs(directives.get('TimeoutStartSec')) > 16 * (drainMs + drainGraceMs),
    'sixteen workers may each drain for the longest time allowed',
  )
})

await t.test('the unit allows the threads of the maximum number of workers while they are replaced', async (t) => {
  const unit = readFileSync(shipped('topicd.service'), 'utf8')
  const workersMax = settingTable.workers.max
  // The primary, the workers, a replacement worker, the writer, its spare and its successor, the tools, and the command that reloads.
  const processes = 1 + workersMax + 1 + 3 + toolsMax + 1
  t.match(unit, `# Each process has at most ${threadsMax} threads`)
  t.match(
    unit,
    `(1 primary + ${workersMax} workers + 1 replacement + 3 writers + ${toolsMax} tools + 1 reload) x ${threadsMax} = ${processes * threadsMax}.`,
  )
  const tasksMax = Number(directivesOf(unit).get('TasksMax'))
  t.ok(processes * threadsMax <= tasksMax, `${processes * threadsMax} of ${tasksMax}`)

  // The coverage tool is loaded into every process that a test starts, and has its own threads.
  const node = join(directory, 'node')
  writeFileSync(node, `#!/bin/sh\nunset NODE_OPTIONS\nexec '${process.execPath}' "$@"\n`, { mode: 0o755 })
  const server = await startServer(t, { workers: 2, node })
  const writes = Array.from({ length: 200 }, (_, i) => server.post('addAndSet', { path: `a/${i}`, value: i }))
  for (const { status } of await Promise.all(writes)) if (status !== 200) t.fail(`a write got ${status}`)
  await fetch(`${server.adminUrl}/metrics`)
  const spare = await until('a spare runs', async () => server.sparePid())
  const pids = [server.pid, ...server.workerPids(), present(server.writerPid()), spare]
  const counts = pids.map((pid) => readdirSync(`/proc/${pid}/task`).length)
  t.equal(counts.length, 5)
  t.ok(
    Math.max(...counts) <= threadsMax,
    `the primary, two workers, the writer and its spare: ${counts.join(', ')} threads`,
  )
})

await t.test('systemd restarts the service without limit, with pauses, unless a setting is invalid', async (t) => {
  const directives = directivesOf(readFileSync(shipped('topicd.service'), 'utf8'))
  t.equal(directives.get('StartLimitIntervalSec'), '0')
  t.notOk(directives.has('StartLimitBurst'))
  t.equal(directives.get('Restart'), 'on-failure')
  t.ok(spanMs(directives.get('RestartSec')) >= 2000)
  t.equal(directives.get('RestartPreventExitStatus'), String(exitCodes.usage))
  t.equal(directives.get('SuccessExitStatus'), 'SIGTERM', 'a stop that ends a reload is not a failure')
})
