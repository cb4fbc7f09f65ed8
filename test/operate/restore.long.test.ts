/** `topicd restore` puts a whole backup, or nothing, into a directory without a store. */
import { copyFileSync, existsSync, mkdirSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { open } from 'lmdb'
import t from 'tap'
import { openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { runCommand } from '../support/service/server.js'

const directory = t.testdir()
const file = join(directory, 'backup.mdb')

function fresh(name: string): string {
  const data = join(directory, name)
  mkdirSync(data)
  return data
}

const source = fresh('source')
await runCommand(['keys', 'add', 'first', '--create', '--data', source])
t.match(await runCommand(['backup', file, '--data', source]), { code: 0 })

await t.test('an unusable backup is rejected with a message of one sentence, and no file is left', async (t) => {
  const variant = (name: string, change: (path: string) => void): string => {
    const path = join(directory, name)
    copyFileSync(file, path)
    change(path)
    return path
  }
  const truncated = variant('truncated', (path) => truncateSync(path, 9000))
  const foreign = variant('foreign', (path) => writeFileSync(path, 'precious'.repeat(10_000)))
  const other = open({ path: join(directory, 'other.mdb'), noSubdir: true })
  await other.put('name', 'value')
  await other.close()
  const newer = join(directory, 'newer', 'topics', 'data.mdb')
  mkdirSync(dirname(newer), { recursive: true })
  copyFileSync(file, newer)
  const { root, meta } = openEnvironment(join(directory, 'newer'))
  meta.putSync('format', Buffer.from(new Float64Array([99]).buffer).reverse())
  await root.close()

  const data = fresh('refused')
  const nothing = 'topicd: nothing was restored:'
  const topics = join(data, 'topics')
  const refused: readonly (readonly [readonly string[], RegExp | string])[] = [
    [[join(directory, 'nowhere')], `topicd: there is no file ${directory}/nowhere\n`],
    [[directory], `topicd: ${directory} is not a plain file, so it is not a backup\n`],
    [
      [truncated],
      /^topicd: nothing was restored: \S+\/truncated is damaged: page \d+ is not the root of a tree.*\)\n$/,
    ],
    [[foreign], `${nothing} ${foreign} is not an LMDB file, or its first page is damaged\n`],
    [[join(directory, 'other.mdb')], `${nothing} ${directory}/other.mdb is an LMDB file, but not topicd's\n`],
    [
      [newer],
      /^topicd: nothing was restored: \S+ is in format 99, written by a newer topicd; .*: run the newer one, or restore/,
    ],
    [[file, '--disk-free-bytes-min', '1000000000000000'], /and 1000000000000000 must stay free\n$/],
    [[file, '--store', 'postgres://h/d'], /the store is PostgreSQL; .* such as pg_restore\n$/],
  ]
  for (const [args, stderr] of refused) {
    const result = await runCommand(['restore', ...args, '--data', data])
    t.equal(result.code, 1)
    if (typeof stderr === 'string') t.equal(result.stderr, stderr)
    else t.match(result.stderr, stderr)
    t.notMatch(result.stderr, /restore\.partial|in its place/, 'the message is about the backup, not the copy')
    t.notOk(existsSync(topics), 'nothing is left')
  }
  const dangling = fresh('odd')
  symlinkSync('nowhere', join(dangling, 'topics'))
  const odd = [
    [join(directory, 'truncated'), `topicd: ${directory}/truncated is not a directory\n`],
    [
      dangling,
      `topicd: ${dangling}/topics is a symbolic link whose target does not exist: mount or create the target\n`,
    ],
  ] as const
  for (const [data, stderr] of odd) t.match(await runCommand(['restore', file, '--data', data]), { code: 1, stderr })
  // Otherwise Biome would complain about the link.
  unlinkSync(join(dangling, 'topics'))
  const nowhere = await runCommand(['restore', file, '--data', join(directory, 'none')])
  t.match(nowhere, { code: 1, stderr: /there is no directory \S+none; create it/ })
})

await t.test('one of two concurrent restores succeeds, and the other restore changes nothing', async (t) => {
  const data = fresh('twice')
  const both = await Promise.all([1, 2].map(() => runCommand(['restore', file, '--data', data])))
  t.strictSame(both.map(({ code }) => code).sort(), [0, 1])
  t.match(
    both.find(({ code }) => code === 1)?.stderr,
    /already contains a store|is in use by a service or another command/,
  )
  t.match(await runCommand(['check', '--data', data]), { code: 0, stdout: / 0 findings\n$/ })
})

await t.test('no store is created in a directory where a restore was interrupted', async (t) => {
  const data = fresh('broken-off')
  mkdirSync(join(data, 'topics', 'restore.partial', 'topics'), { recursive: true })
  const advice =
    /a restore (in \S+broken-off )?was interrupted: run "topicd restore FILE --data \S+" again, or delete \S+restore\.partial to start with an/
  t.match(await runCommand(['keys', 'add', 'k', '--create', '--data', data]), { code: 1, stderr: advice })
  t.match(await runCommand(['serve', '--port', '0', '--admin-port', '0', '--data', data]), { code: 1, stderr: advice })
  t.notOk(existsSync(join(data, 'topics', 'data.mdb')))
  t.match(await runCommand(['restore', file, '--data', data]), { code: 0 })
  t.notOk(existsSync(join(data, 'topics', 'restore.partial')))
})
