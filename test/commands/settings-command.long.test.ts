/** `topicd settings`: the settings that serve would use and their sources, or the reasons why it would not start. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { settingTable } from '../../dist/settings/table.js'
import { cleanEnv, mainFile, runCommand } from '../support/service/server.js'

t.test('the settings command prints each setting with its value and source, as text and as JSON', async (t) => {
  const file = join(t.testdir(), 'topicd.env')
  writeFileSync(file, '# ours\nTOPICD_PAGE_SIZE_MAX=500\n')
  const flags = ['settings', '--settings', file, '--port', '8443']
  const expected = [
    ['port', '8443', '--port'],
    ['workers', '3', 'TOPICD_WORKERS'],
    ['page-size-max', '500', `${file} line 2`],
    ['admin-port', '8081', 'default'],
  ] as const
  const { code, stdout, stderr } = await runCommand(flags, { TOPICD_WORKERS: '3' })
  t.equal(code, 0, stderr)
  for (const name of Object.keys(settingTable)) t.match(stdout, new RegExp(`^${name} `, 'm'))
  const lines = stdout.split('\n').map((line) => line.replaceAll(/ +/g, ' '))
  const { stdout: json } = await runCommand([...flags, '--json'], { TOPICD_WORKERS: '3' })
  const settings = JSON.parse(json) as Record<string, { value: string; from: string }>
  t.strictSame(Object.keys(settings), Object.keys(settingTable))
  for (const [name, value, from] of expected) {
    t.ok(lines.includes(`${name} ${value} ${from}`), name)
    t.strictSame(settings[name], { value, from })
  }
})

t.test('the settings command lists every error and exits with 2', async (t) => {
  const { code, stdout, stderr } = await runCommand(['settings', '--port', '70000'], { TOPICD_WORKERS: '0' })
  t.equal(code, 2)
  t.equal(stdout, '')
  t.match(stderr, /--port is "70000"/)
  t.match(stderr, /TOPICD_WORKERS is "0"/)
})

t.test('the settings command rejects a host, base path or certificate that serve cannot use', async (t) => {
  for (const [flag, value, code] of [
    ['--host', '127.0.0.1:8080', 2],
    ['--host', '[::1]', 2],
    ['--admin-host', '', 2],
    ['--admin-host', 'a b', 2],
    ['--host', 'my_service.internal', 0],
    ['--host', 'fe80::1%eth0', 0],
    ['--base-path', `/${'a'.repeat(10_000)}!`, 2],
    ['--base-path', '/a-b/~c.d/', 0],
  ] as const)
    t.match(await runCommand(['settings', flag, value]), code === 2 ? { code, stderr: `${flag} is` } : { code }, value)
  const tls = ['--tls-cert', '/nonexistent.pem', '--tls-key', '/nonexistent.key']
  t.match(await runCommand(['settings', ...tls]), { code: 2, stderr: /--tls-cert.*\/nonexistent\.pem/ })
})

t.test('the settings command examines the data directory but does not create it', async (t) => {
  const directory = t.testdir({ file: '' })
  const absent = join(directory, 'absent')
  const none = await runCommand(['settings', '--data', absent])
  t.equal(none.code, 0, 'serve would create it')
  t.match(none.stderr, /absent does not exist; serve will create it/)
  t.notOk(existsSync(absent), 'nothing was created')

  const file = await runCommand(['settings', '--data', join(directory, 'file')])
  t.equal(file.code, 2)
  t.match(file.stderr, /file is not a directory/)
})

const needsRoot = process.getuid?.() === 0 ? undefined : 'a directory of another account needs root'

t.test('the error for a data directory of another account names its owner', { skip: needsRoot }, async (t) => {
  const directory = t.testdir()
  const data = join(directory, 'db')
  mkdirSync(data)
  chmodSync(data, 0o700)
  chownSync(data, 65534, 65534)
  // As root without its privileges, because another account may not reach the checkout.
  const asMere = ['--bounding-set=-all', '--inh-caps=-all', process.execPath, mainFile, 'settings', '--data', data]
  const { status, stderr } = spawnSync('setpriv', asMere, { env: cleanEnv(), encoding: 'utf8' })
  t.equal(status, 2)
  t.match(stderr, /db is owned by user 65534, group 65534, with mode 700; this command runs as user 0/)
})

t.test('the settings command names each overridden line of the settings file', async (t) => {
  const file = join(t.testdir(), 'topicd.env')
  writeFileSync(file, 'TOPICD_DATA=/elsewhere\nTOPICD_PORT=8080\n')
  const { code, stderr } = await runCommand(['settings', '--settings', file, '--data', t.testdirName, '--port', '8080'])
  t.equal(code, 0)
  t.equal(stderr, `topicd: ${file} line 1: TOPICD_DATA has no effect: --data overrides it\n`, 'only the differing line')
  const byEnvironment = await runCommand(['settings', '--settings', file], { TOPICD_DATA: t.testdirName })
  t.match(byEnvironment.stderr, 'TOPICD_DATA has no effect: the environment overrides it')
})

t.test('the settings command rejects the same port for two listeners on one address', async (t) => {
  const tried = (...args: readonly string[]) => runCommand(['settings', '--port', '8081', ...args])
  const refused = { code: 2, stderr: /--port and --admin-port must differ/ }
  t.match(await tried(), refused)
  t.match(await tried('--host', '::'), refused)
  t.match(await tried('--host', '192.0.2.1'), { code: 0 })
})

t.test('a message has a priority only if it is written to the journal', async (t) => {
  const file = join(t.testdir(), 'stderr')
  const descriptor = openSync(file, 'w')
  const { dev, ino } = fstatSync(descriptor)
  const env = { ...cleanEnv(), JOURNAL_STREAM: `${dev}:${ino}` }
  spawnSync(process.execPath, [mainFile, 'settings', '--port', 'x'], { env, stdio: ['ignore', 'ignore', descriptor] })
  closeSync(descriptor)
  t.match(readFileSync(file, 'utf8'), /^<3>topicd: --port/)
  const piped = await runCommand(['settings', '--port', 'x'], { JOURNAL_STREAM: `${dev}:${ino}` })
  t.match(piped.stderr, /^topicd: --port/)
})

t.test('the settings command never prints the password in a store address, at any position', async (t) => {
  for (const [address, ...flags] of [
    ['postgresql://u:p@s3cret@h/d'],
    ['postgres://h/d?user=u&password=s3cret', '--json'],
  ] as const) {
    const { code, stdout, stderr } = await runCommand(['settings', ...flags], { TOPICD_STORE: address })
    t.equal(code, 0, stderr)
    t.match(stdout, '***')
    t.notMatch(stdout + stderr, 's3cret', address)
  }
})

t.test('the settings command shows two workers on a machine with one core', async (t) => {
  const onOneCore = ['-c', '0', process.execPath, mainFile, 'settings', '--json']
  const { stdout } = spawnSync('taskset', onOneCore, { env: cleanEnv(), encoding: 'utf8' })
  t.equal((JSON.parse(stdout) as { workers: { value: string } }).workers.value, '2')
})
