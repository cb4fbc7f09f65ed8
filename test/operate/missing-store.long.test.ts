/**
 * A command that reads creates nothing in a data directory that is mistyped or not restored yet. Otherwise a scheduled backup of an empty
 * store would succeed forever, and a restore to the wrong place would pass its check.
 */
import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cleanEnv, mainFile, runCommand } from '../support/service/server.js'

const directory = t.testdir()

const copy = join(directory, 'copy.mdb')

const commands = [['check'], ['backup', copy], ['export'], ['keys', 'revoke', 'somebody']]

for (const command of commands) {
  const name = command.slice(0, 2).join(' ')
  t.test(`${name} without a store exits with 1, reports the missing store and changes nothing`, async (t) => {
    const fails = async (data: string, message: string): Promise<void> => {
      const { code, stdout, stderr } = await runCommand([...command, '--data', data])
      t.strictSame({ code, stdout }, { code: 1, stdout: '' })
      t.match(stderr, message)
    }
    const mistyped = join(directory, `mistyped-${command[0]}`)
    await fails(
      mistyped,
      `topicd: there is no directory ${mistyped}; set the data directory with --data or TOPICD_DATA\n`,
    )
    t.notOk(existsSync(mistyped), 'no directory is created')
    const other = join(directory, `other-${command[0]}`)
    mkdirSync(other)
    writeFileSync(join(other, 'letter.txt'), '')
    const file = join(other, 'topics', 'data.mdb')
    await fails(other, `topicd: there is no store in ${other} (no file ${file}); set the data directory with --data`)
    t.strictSame(readdirSync(other), ['letter.txt'])
    t.notOk(existsSync(copy), 'no file is created')
  })
}

t.test('a data directory that is a file is rejected, and the error names it', async (t) => {
  const file = join(directory, 'file')
  writeFileSync(file, '')
  t.match(await runCommand(['check', '--data', file]), {
    code: 1,
    stderr: /^topicd: there is no store in \S+file \(no file /,
  })
})

t.test('serve reports why it cannot use a data directory', async (t) => {
  const serve = ['serve', '--port', '0', '--admin-port', '0', '--data']
  const below = join(directory, 'file', 'db')
  const reason = /^topicd: .*the data directory \S+db cannot be used: ENOTDIR[^;\n]*$/m
  t.match(await runCommand([...serve, below]), { code: 1, stderr: reason })
})

const needsRoot = process.getuid?.() === 0 ? undefined : 'a directory of another account needs root'

t.test('serve names the owner of a store that it cannot reach', { skip: needsRoot }, async (t) => {
  const data = join(directory, 'foreign')
  mkdirSync(join(data, 'topics'), { recursive: true, mode: 0o700 })
  chownSync(join(data, 'topics'), 65534, 65534)
  const serve = [mainFile, 'serve', '--port', '0', '--admin-port', '0', '--data', data]
  // Runs as root without its privileges, because another account may not reach the checkout.
  const asMere = ['--bounding-set=-all', '--inh-caps=-all', process.execPath, ...serve]
  const { status, stderr } = spawnSync('setpriv', asMere, { env: cleanEnv(), encoding: 'utf8', timeout: 600_000 })
  t.equal(status, 1)
  t.match(stderr, /topics: this process \(uid 0\) cannot .*\(EACCES\); it is owned by uid 65534.*: change its owner/)
})

t.test('keys add creates a store only with --create, and reports that it did', async (t) => {
  const fresh = join(directory, 'fresh')
  t.strictSame(await runCommand(['keys', 'add', 'first', '--data', fresh]), {
    code: 1,
    stdout: '',
    stderr: `topicd: there is no directory ${fresh}; set the data directory with --data or TOPICD_DATA. To create a store there, start the service or use --create\n`,
  })
  t.notOk(existsSync(fresh))
  const first = await runCommand(['keys', 'add', 'first', '--create', '--data', fresh])
  t.match(first, { code: 0, stderr: `topicd: there is no store in ${fresh}; creating one\n` })
  t.match(first.stdout, /^topicd_[\w-]{43}\n$/)
  t.match(await runCommand(['keys', 'add', 'second', '--data', fresh]), { code: 0, stderr: '' })
  t.match(await runCommand(['check', '--data', fresh]), { code: 0, stdout: /0 findings\n$/ })
})

t.test('import creates a store', async (t) => {
  const fresh = join(directory, 'imported')
  t.match(await runCommand(['import', '--allow-unfinished', '--data', fresh], {}, '{"path":"a","value":1}\n'), {
    code: 0,
    stderr: '',
  })
  t.match(await runCommand(['export', '--data', fresh]), { code: 0, stdout: /^\{"path":"a"/ })
})
