/** The source of a setting: flag, environment, settings file, default, in this order, for every command. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cleanEnv, mainFile, runCommand } from '../support/service/server.js'

/** Writes a settings file with these lines; returns its path. */
function settingsFile(t: { testdir(): string }, ...lines: readonly string[]): string {
  const file = join(t.testdir(), 'topicd.env')
  writeFileSync(file, lines.join('\n'))
  return file
}

t.test('every command uses the data directory of the settings file', async (t) => {
  const file = settingsFile(t)
  const data = join(t.testdirName, 'in-the-file')
  const backup = join(t.testdirName, 'backup.mdb')
  writeFileSync(file, `TOPICD_DATA=${data}\n`)
  const run = (args: readonly string[], input = '') => runCommand(args, { TOPICD_SETTINGS: file }, input)

  const added = await run(['keys', 'add', 'ours', '--create'])
  t.equal(added.code, 0, added.stderr)
  const imported = await run(['import', '--allow-unfinished'], '{"path":"a","type":"json","value":1}\n')
  t.match(imported.stdout, /^1 topics imported/, imported.stderr)
  t.match((await run(['keys', 'list'])).stdout, /^ours /m)
  t.match((await run(['export'])).stdout, /"path":"a"/)
  t.match((await run(['check'])).stdout, /checked/)
  t.match((await run(['backup', backup])).stdout, backup)
  t.equal((await run(['keys', 'revoke', 'ours'])).code, 0)

  const byFlag = await runCommand(['export', '--settings', file])
  t.match(byFlag.stdout, /"path":"a"/, 'the file may also be named by a flag')
})

t.test('a flag overrides the environment, which overrides the settings file, which overrides defaults', async (t) => {
  const file = settingsFile(t)
  const directory = (name: string): string => join(t.testdirName, name)
  writeFileSync(file, `TOPICD_DATA=${directory('file')}\n`)
  for (const name of ['flag', 'environment', 'file', 'cwd/data']) {
    mkdirSync(directory(name), { recursive: true })
    await runCommand(
      ['import', '--allow-unfinished', '--data', directory(name)],
      {},
      `{"path":"${name}","type":"json","value":1}\n`,
    )
  }
  const exported = (args: readonly string[], env: Readonly<Record<string, string>>): string =>
    spawnSync(process.execPath, [mainFile, 'export', ...args], {
      env: { ...cleanEnv(), ...env },
      cwd: directory('cwd'),
      encoding: 'utf8',
    }).stdout
  const both = { TOPICD_SETTINGS: file, TOPICD_DATA: directory('environment') }
  t.match(exported(['--data', directory('flag')], both), '"path":"flag"')
  t.match(exported([], both), '"path":"environment"')
  t.match(exported([], { TOPICD_SETTINGS: file }), '"path":"file"')
  t.match(exported([], {}), '"path":"cwd/data"')
})

/** Nothing listens on port 1, and a command retries for a while before it reports that. All commands run concurrently here. */
const engineAwayMsMax = 120_000
const absentEngine = 'postgres://topicd@127.0.0.1:1/none'

t.test('every command connects to the PostgreSQL server that the settings file names', async (t) => {
  const file = settingsFile(t, `TOPICD_STORE=${absentEngine}`)
  const commands = [
    ['check'],
    ['export'],
    ['import'],
    ['keys', 'list'],
    ['keys', 'add', 'a'],
    ['keys', 'revoke', 'a'],
    ['migrate'],
  ]
  await Promise.all(
    commands.map(async (args) => {
      const { code, stderr } = await runCommand(args, { TOPICD_SETTINGS: file }, '', engineAwayMsMax)
      t.equal(code, 1, args.join(' '))
      t.match(stderr, /ECONNREFUSED/, `${args.join(' ')} tried the engine`)
    }),
  )
})

t.test('openapi describes the routes below the base path of the settings file', async (t) => {
  const file = settingsFile(t, 'TOPICD_BASE_PATH=/diffusion')
  const { stdout } = await runCommand(['openapi'], { TOPICD_SETTINGS: file })
  t.match(JSON.parse(stdout), { servers: [{ url: /\/diffusion$/ }] })
})

/** Lines that every command rejects, and the words that the message must contain. */
const wrongLines: readonly (readonly [line: string, ...mentions: string[]])[] = [
  ['TOPICD_PORT 8080', 'TOPICD_PORT 8080'],
  ['TOPICD_WORKER=2', 'TOPICD_WORKER', 'TOPICD_WORKERS'],
  ['PORT=8080', 'PORT', 'TOPICD_PORT'],
  ['TOPICD_PORT=65536', 'TOPICD_PORT', '65536', '0 to 65535'],
  ['TOPICD_HOST="::1', 'quote'],
  ['TOPICD_DATA=/somewhere', 'TOPICD_DATA', 'line 1'],
  ['TOPICD_SETTINGS=/etc/other', 'TOPICD_SETTINGS'],
]

t.test('the error for an invalid line of the settings file names the line, and the exit status is 2', async (t) => {
  for (const [line, ...mentions] of wrongLines) {
    const file = settingsFile(t, `TOPICD_DATA=${t.testdirName}/db`, line)
    const { code, stdout, stderr } = await runCommand(['serve', '--port', '0'], { TOPICD_SETTINGS: file })
    t.strictSame([code, stdout], [2, ''], line)
    t.match(stderr, /^topicd: .+\n$/, 'one line')
    for (const mention of [file, 'line 2', ...mentions])
      t.ok(stderr.includes(mention), `"${stderr.trim()}" mentions ${mention}`)
  }
})

t.test('a settings file may contain comments, quotes, blanks and `export`', async (t) => {
  const file = settingsFile(
    t,
    '\uFEFF# a comment',
    '',
    '  export TOPICD_HOST = "127.0.0.2"  # the other one',
    "TOPICD_BASE_PATH='/quoted'\r",
    'TOPICD_DATA=a#b',
    'TOPICD_WORKERS=3 # three',
  )
  const { stdout, stderr } = await runCommand(['settings', '--json'], { TOPICD_SETTINGS: file })
  const settings = JSON.parse(stdout || stderr) as Record<string, { value: string; from: string }>
  t.match(settings, {
    host: { value: '127.0.0.2', from: `${file} line 3` },
    'base-path': { value: '/quoted', from: `${file} line 4` },
    workers: { value: '3', from: `${file} line 6` },
    data: { value: 'a#b', from: `${file} line 5` },
  })
})
