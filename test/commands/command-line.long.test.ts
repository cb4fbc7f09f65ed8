/** The command line: help, version and errors. After a mistake, a command prints one line that names it and exits with 2. */
import { strict as assert } from 'node:assert'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { describeApi } from '../../dist/api/openapi/openapi.js'
import { helpHint, runCommand as runWords, textFor } from '../../dist/commands/dispatch.js'
import { openapi } from '../../dist/commands/openapi.js'
import { type GivenSettings, readConfig, UsageError } from '../../dist/settings/config.js'
import { environmentName, type Setting, settingNames, settingTable } from '../../dist/settings/table.js'
import { runCommand } from '../support/service/server.js'

/** The commands, as they are typed. */
const commands = [
  ...[
    'serve',
    'reload',
    'settings',
    'keys add',
    'keys list',
    'keys revoke',
    'keys rotate',
    'check',
    'backup',
    'export',
  ],
  ...['import', 'openapi', 'migrate'],
].map((command) => command.split(' '))

/** The output of `topicd help` for a command. */
async function helpOf(...command: readonly string[]): Promise<string> {
  return (await textFor(['help', ...command])) ?? ''
}

/** The width of a terminal. */
const columnsMax = 80

t.test('the help for serve lists every setting with its environment name, default and bounds', async (t) => {
  const { code, stdout, stderr } = await runCommand(['help', 'serve'])
  t.equal(code, 0)
  t.equal(stderr, '')
  const entries = stdout.split('\n  --')
  for (const [flag, setting] of Object.entries(settingTable)) {
    const entry =
      entries.find((text) => text.startsWith(`${flag} `) || text.startsWith(`${flag}\n`))?.replaceAll(/\s+/g, ' ') ?? ''
    t.ok(entry.includes(environmentName(flag)), `${flag}: its environment name`)
    t.ok(entry.includes(`default ${setting.default === '' ? 'none' : setting.default}`), `${flag}: its default`)
    if (setting.kind === 'number') t.ok(entry.includes(`${setting.min} to ${setting.max}`), `${flag}: its bounds`)
  }
})

t.test('every spelling of help prints the same list of all commands on standard output', async (t) => {
  const { code, stdout: expected, stderr } = await runCommand(['--help'])
  t.equal(code, 0)
  t.equal(stderr, '')
  for (const args of [['--help'], ['-h'], ['help'], ['help', 'help'], ['help', 'version'], ['version', '--help']]) {
    t.equal(await textFor(args), expected, args.join(' '))
  }
  for (const command of commands) t.match(expected, new RegExp(`^ +${command.join(' ')}\\b`, 'm'), command.join(' '))
})

t.test('the help for one command describes only that command', async (t) => {
  for (const command of commands) {
    const expected = await helpOf(...command)
    t.ok(expected.startsWith(`Usage: topicd ${command.join(' ')}`), command.join(' '))
    t.equal(await textFor([...command, '--help']), expected)
  }
  const elsewhere = await runCommand(['keys', 'add', 'a', '--port', 'nonsense', '--help'], { TOPICD_NONSENSE: '1' })
  t.strictSame(elsewhere, { code: 0, stdout: await helpOf('keys', 'add'), stderr: '' }, 'even if the rest is invalid')
  const addHelp = await helpOf('keys', 'add')
  t.match(addHelp.replaceAll(/\s+/g, ' '), /--allow.*default fetch,set,add,remove/)
  t.notMatch(addHelp, '--port')
  const group = await helpOf('keys')
  for (const action of ['add', 'list', 'revoke', 'rotate']) t.match(group, `keys ${action}`)
  t.equal(await textFor(['keys', '--help']), group)
})

/** A value of a setting other than its default; it may be invalid. */
function otherText({ kind, default: text, ...setting }: Setting): string {
  if (kind === 'number') return `${Number(text) === setting.max ? setting.min : setting.max}`
  return kind === 'switch' ? `${text !== 'true'}` : '/other'
}

t.test('the openapi command accepts as a flag each setting that changes its output', (t) => {
  const described = (given: GivenSettings): string =>
    JSON.stringify(describeApi({ ...readConfig(given), version: '1' }))
  const plain = described({})
  const changing = settingNames.filter((name) => {
    if (name === 'settings') return true
    try {
      return described({ [name]: otherText(settingTable[name]) }) !== plain
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      return false
    }
  })
  t.ok(changing.length > 2, changing.join())
  t.strictSame([...openapi.settings].sort(), changing.sort())
  t.end()
})

t.test('no line of any help text is wider than a terminal', async (t) => {
  for (const args of [[], ['keys'], ...commands]) {
    t.strictSame(
      (await helpOf(...args)).split('\n').filter((line) => line.length > columnsMax),
      [],
      `help ${args.join(' ')}`,
    )
  }
})

t.test('the version that is printed is the version of the package', async (t) => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
    version: string
  }
  t.strictSame(await runCommand(['--version']), { code: 0, stdout: `topicd ${version}\n`, stderr: '' })
  for (const args of [['-V'], ['version']]) t.equal(await textFor(args), `topicd ${version}\n`)
})

t.test('the program without a command prints the help on standard error and exits with 2', async (t) => {
  const { code, stdout, stderr } = await runCommand([])
  t.equal(code, 2)
  t.equal(stdout, '')
  t.equal(stderr, await helpOf())
})

/** Mistakes: a command line, after any environment variables, and parts of its error message. */
const wrong: Readonly<Record<string, readonly [line: string, ...mentions: string[]]>> = {
  'an unknown command': ['sreve', 'unknown command "sreve"', 'did you mean "serve"?', 'topicd help'],
  'an unknown command that resembles no other': ['frobnicate', 'unknown command "frobnicate"', 'topicd help'],
  'help for an unknown action': ['help keys ad', '"keys ad"', '"keys add"'],
  'a word after a word without flags': ['help version x', 'unexpected argument "x"'],
  'a flag before the command': ['--port 1 serve', '--port'],
  'an unknown flag': ['serve --prot 1', '--prot', '--port', 'topicd help serve'],
  'a flag of serve given to another command': ['check --port 1', '--port', 'topicd help check'],
  'a repeated flag': ['serve --port 1 --port 2', '--port', 'once'],
  'one argument too many': ['import tree.ndjson', 'tree.ndjson'],
  'a flag without its value': ['serve --port', '--port'],
  'a flag in place of a value': ['serve --data --port 1', '--data'],
  'an empty data directory': ['check --data=', '--data'],
  'a port beyond its bound': ['serve --port 65536', '--port', '65536', '0 to 65535'],
  'a setting below its lower bound': ['serve --body-bytes-max 1023', '--body-bytes-max', '1023', '1024'],
  'an unknown engine': ['serve --store sqlite', '--store', 'sqlite', 'lmdb'],
  'a certificate without its key': ['serve --tls-cert a.pem', '--tls-key'],
  'an invalid variable': ['TOPICD_PAGE_SIZE_MAX=many serve', 'TOPICD_PAGE_SIZE_MAX', 'many', '1 to 100000'],
  'an invalid switch': ['TOPICD_ACCESS_LOG=yes serve', 'TOPICD_ACCESS_LOG', 'yes', 'true or false'],
  'a misspelt variable': ['TOPICD_WORKER=1 serve', 'TOPICD_WORKER is not a setting', 'TOPICD_WORKERS'],
  'a short variable that resembles no setting': ['TOPICD_FOO=1 check', 'TOPICD_FOO is not a setting (see'],
  'a variable in lower case': ['topicd_port=1 serve', 'topicd_port', 'TOPICD_PORT'],
  'a settings file that does not exist': ['serve --settings /nonexistent/topicd.env', '/nonexistent/topicd.env'],
  'a settings file that is a directory': ['check --settings /', 'settings file /'],
  'a migration of lmdb': ['migrate', '--store', 'postgres://'],
  'a backup without a file': ['backup', 'FILE', 'topicd help backup'],
  'a --from-line below 1': ['import --from-line 0', '--from-line', '0', '1 to'],
  'a selector that cannot be parsed': ['export --selector ?a[', '--selector', '?a['],
  'keys without an action': ['keys', 'add, list, revoke, rotate'],
  'an unknown action of keys': ['keys revok a', '"keys revok"', '"keys revoke"'],
  'a key without a name': ['keys add', 'NAME'],
  'a key with an invalid name': ['keys add a*b', 'NAME', 'a*b'],
  'an operation that does not exist': ['keys add a --allow fetch,delete', '--allow', 'fetch,delete', 'remove'],
  'an operation given twice': ['keys add a --allow set,set', '--allow', 'set'],
  'a subtree that is not a path': ['keys add a --under a//b', '--under', 'a//b'],
  'an expiry without a unit': ['keys add a --expires 30', '--expires is "30"; it must be a period such as 12h'],
  'a rate that is too high': ['keys add a --rate 1000001', '--rate is "1000001"'],
  'a grace without a unit': ['keys rotate a --grace 1', '--grace is "1"; it must be a period', 'help keys rotate'],
  'a password in an argument': [
    'serve --store = postgres://u:s3cret@h/d',
    'unexpected argument "postgres://u:***@h/d"',
  ],
  'a password in a flag': ['serve --store:postgres://u:s3cret@h/d', 'postgres://u:***@h/d'],
  'a password in place of a command': ['postgres://u:s3cret@h/d', 'unknown command "postgres://u:***@h/d"'],
  'a password as another value': ['serve --port postgres://u:s3cret@h/d', '--port is "postgres://u:***@h/d"'],
  'a password in place of a name': ['keys add postgres://u:s3cret@h/d', 'NAME', 'postgres://u:***@h/d'],
  'an address without a password': ['serve --port http://h/d', '"http://h/d"'],
}

/** The arguments of a command line, and the environment variables before them. */
function parsed(line: string): [args: readonly string[], env: Readonly<Record<string, string>>] {
  const words = line.split(' ')
  const variables = words.filter((word) => /^topicd_\w+=/i.test(word))
  return [words.slice(variables.length), Object.fromEntries(variables.map((word) => word.split('=')))]
}

/** Runs a command line in this process with `env` as its settings; returns the line that the program would print. */
async function usageProblem(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const before = { ...process.env }
  for (const name of Object.keys(before)) if (/^topicd_/i.test(name)) delete process.env[name]
  Object.assign(process.env, env)
  try {
    const text = await textFor(args)
    assert.equal(text, undefined, 'the line runs a command')
    await runWords(args)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return `topicd: ${error.message} (see ${helpHint(args)})\n`
  } finally {
    for (const name of Object.keys(env)) delete process.env[name]
    Object.assign(process.env, before)
  }
  throw new Error('the line is accepted')
}

t.test('each mistake on the command line is rejected with one line that names the mistake', async (t) => {
  const data = join(t.testdirName, 'db')
  for (const [mistake, [line, ...mentions]] of Object.entries(wrong)) {
    const [args, env] = parsed(line)
    const problem = await usageProblem(args, { TOPICD_DATA: data, ...env })
    t.match(problem, /^topicd: .+topicd help.*\n$/, `${mistake}: one line, and where to read more`)
    t.strictSame(
      mentions.filter((mention) => !problem.includes(mention)),
      [],
      `${mistake}: "${problem.trim()}"`,
    )
    t.notMatch(problem, 's3cret', `${mistake}: no password is repeated`)
    t.notOk(existsSync(data), `${mistake}: nothing was created`)
  }
})

t.test('the program prints the line about a mistake and exits with 2', async (t) => {
  for (const mistake of ['an invalid variable', 'a password in place of a name']) {
    const [args, env] = parsed(wrong[mistake]?.[0] ?? '')
    const expected = { code: 2, stdout: '', stderr: await usageProblem(args, env) }
    t.strictSame(await runCommand(args, env), expected, mistake)
  }
})
