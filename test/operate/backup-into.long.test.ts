/** `topicd backup --into`: a series of backups, the oldest of which are deleted. */
import { mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand, startServer } from '../support/service/server.js'

const directory = t.testdir()
const server = await startServer(t, { dataDir: join(directory, 'db') })

function freshIn(name: string): string {
  const fresh = join(directory, `of-${name}`)
  mkdirSync(fresh)
  return fresh
}

await t.test('the oldest backups are deleted, and nothing else', async (t) => {
  const into = join(directory, 'into')
  t.match(await server.command('backup', '--into', into), { code: 1, stderr: /there is no directory/ })
  mkdirSync(into)
  const old = ['topicd-20200101T000000Z.mdb', 'topicd-20210101T000000Z.mdb']
  const others = ['topicd-20200101T000000Z.mdb.old', 'topicd-2020.mdb', 'topicd-21000101T000000Z.mdb', 'x']
  for (const name of [...old, ...others]) writeFileSync(join(into, name), '')
  mkdirSync(join(into, 'topicd-20190101T000000Z.mdb'))
  t.match(await server.command('backup', '--into', into, '--keep', '2'), {
    code: 0,
    stdout: /2 kept in \S+, deleted topicd-20200101T000000Z\.mdb\n$/,
  })
  const names = readdirSync(into)
  t.equal(names.length, 7)
  for (const name of [...others, 'topicd-20190101T000000Z.mdb', 'topicd-20210101T000000Z.mdb'])
    t.ok(names.includes(name), name)
})

await t.test("concurrent backups do not delete each other's files, and one succeeds", async (t) => {
  const into = freshIn('two')
  const both = await Promise.all([1, 2].map(() => server.command('backup', '--into', into, '--keep', '1')))
  const made = both.filter(({ code }) => code === 0)
  t.ok(made.length > 0)
  for (const { code, stderr } of both) if (code !== 0) t.match(stderr, /exists|EEXIST/)
  // Backups in the same second have the same name, and the later one is rejected.
  const names = readdirSync(into)
  t.ok(names.length >= 1 && names.length <= made.length, names.join())
  for (const name of names) {
    t.match(await runCommand(['restore', join(into, name), '--data', freshIn(name)]), { code: 0 })
  }
})

await t.test('old backups are kept if a new backup fails', async (t) => {
  const into = freshIn('failed')
  const old = ['topicd-20200101T000000Z.mdb', 'topicd-20210101T000000Z.mdb']
  for (const name of old) writeFileSync(join(into, name), '')
  const data = join(directory, 'damaged')
  const lines = Array.from({ length: 1000 }, (_, i) => `{"path":"a/${i}","value":${i}}\n`).join('')
  t.match(await runCommand(['import', '--allow-unfinished', '--data', data], {}, lines), { code: 0 })
  truncateSync(join(data, 'topics/data.mdb'), 20_000)
  const { code, stderr } = await runCommand(['backup', '--into', into, '--keep', '1', '--data', data])
  t.equal(code, 1, stderr)
  t.strictSame(readdirSync(into), old)
})

await t.test('flags that cannot be combined are rejected', async (t) => {
  const cases = [
    { args: ['a', '--into', 'b'], stderr: /FILE and --into cannot be used together/ },
    { args: ['a', '--keep', '2'], stderr: /--keep is only used with --into/ },
    { args: ['--into', 'b', '--keep', '3661'], stderr: /--keep/ },
  ]
  for (const { args, stderr } of cases) t.match(await runCommand(['backup', ...args]), { code: 2, stderr })
})
