/**
 * `topicd restore`: puts a whole backup, or nothing, into a directory without a store.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { open } from 'lmdb'
import t from 'tap'
import { openEnvironment } from '../../dist/store/lmdb/environment.js'
import { mainFile, runCommand, type Server, startServer, until } from '../support/server.js'

const directory = t.testdir()
const file = join(directory, 'backup.mdb')

function fresh(name: string): string {
  const data = join(directory, name)
  mkdirSync(data)
  return data
}

async function lastBackup({ adminUrl }: Server): Promise<string | undefined> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
  return /^topicd_last_backup_timestamp_seconds (\S+)$/m.exec(metrics)?.[1]
}

await t.test('a restored store serves the values and the keys of the backup', async (t) => {
  const server = await startServer(t, { dataDir: join(directory, 'db') })
  await server.post('addAndSet', { path: 'a/b', value: 'x'.repeat(50_000) })
  t.match(await server.command('backup', join(directory, 'first.mdb')), { code: 0 })
  const firstBackup = await lastBackup(server)
  t.match(await server.command('backup', file), { code: 0 })
  const { code, stderr } = await runCommand(['restore', file, '--data', server.dataDir])
  t.equal(code, 1)
  t.match(stderr, /there is a store in \S+ already, and a restore never replaces one; stop the service and move/)

  const before = readFileSync(file)
  const data = fresh('restored')
  t.match(await runCommand(['restore', file, '--data', data]), {
    code: 0,
    stdout: /data\.mdb: \d+ bytes, \d+ records checked; the service can be started/,
    stderr: '',
  })
  t.ok(before.equals(readFileSync(file)), 'the backup is unchanged')
  t.notOk(existsSync(join(data, 'topics', 'restore.partial')))
  const drill = await startServer(t, { dataDir: data, token: server.token })
  const { status, text } = await drill.post('fetch', { path: 'a/b' })
  t.equal(status, 200)
  t.ok(text.includes('x'.repeat(50_000)), 'the value is whole')
  t.equal(await lastBackup(drill), firstBackup, 'a backup is noted after its copy was made')
})

await t.test('what cannot be restored is refused in one sentence, and nothing is left', async (t) => {
  const variant = (name: string, change: (path: string) => void): string => {
    const path = join(directory, name)
    copyFileSync(file, path)
    change(path)
    return path
  }
  const truncated = variant('truncated', (path) => truncateSync(path, 9000))
  const cut = variant('cut', (path) => truncateSync(path, readFileSync(path).length - 8192))
  const empty = variant('empty', (path) => truncateSync(path, 0))
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
    [[directory], `topicd: ${directory} is not a plain file, so it is no backup\n`],
    [[empty], `${nothing} ${empty} is empty\n`],
    [
      [truncated],
      /^topicd: nothing was restored: \S+\/truncated is damaged: page \d+ should be the root of a tree.*\)\n$/,
    ],
    [[cut], /^topicd: nothing was restored: \S+\/cut is (truncated|damaged): .*\n$/],
    [[foreign], `${nothing} ${foreign} is not an LMDB file, or its first page is damaged\n`],
    [[join(directory, 'other.mdb')], `${nothing} ${directory}/other.mdb is an LMDB file, but not of topicd\n`],
    [
      [newer],
      /^topicd: nothing was restored: \S+ has the format 99 of a newer topicd, .*: run the newer one, or restore/,
    ],
    [[file, '--disk-free-bytes-min', '1000000000000000'], /and 1000000000000000 must stay free\n$/],
    [[file, '--store', 'postgres://h/d'], /the store is PostgreSQL, .* such as pg_restore\n$/],
  ]
  for (const [args, stderr] of refused) {
    const result = await runCommand(['restore', ...args, '--data', data])
    t.equal(result.code, 1)
    if (typeof stderr === 'string') t.equal(result.stderr, stderr)
    else t.match(result.stderr, stderr)
    t.notMatch(result.stderr, /restore\.partial|in its place/, 'it speaks of the backup, not of the copy')
    t.notOk(existsSync(topics), 'nothing is left')
  }
  const nowhere = await runCommand(['restore', file, '--data', join(directory, 'none')])
  t.match(nowhere, { code: 1, stderr: /there is no directory \S+none; make it/ })
})

await t.test('a damaged page in the middle is found by the check, and named', async (t) => {
  const damaged = join(directory, 'damaged')
  const bytes = readFileSync(file)
  const page = 4096
  const problems = new Set<string>()
  for (let offset = 2 * page; offset < bytes.length; offset += 3 * page) {
    writeFileSync(
      damaged,
      Buffer.concat([bytes.subarray(0, offset), Buffer.alloc(page), bytes.subarray(offset + page)]),
    )
    const data = fresh(`damaged-${offset}`)
    const { code, stderr } = await runCommand(['restore', damaged, '--data', data])
    // A page of a large value holds nothing but the value's text, which has no checksum.
    if (code === 0) continue
    t.equal(code, 1)
    t.match(stderr, new RegExp(`^topicd: nothing was restored: ${damaged} is damaged: .*\n$`))
    t.notOk(existsSync(join(data, 'topics')))
    problems.add(stderr)
  }
  t.ok(problems.size > 1, `${problems.size} different problems`)
})

await t.test('of two restores at once, one wins; the other changes nothing', async (t) => {
  const data = fresh('twice')
  const both = await Promise.all([1, 2].map(() => runCommand(['restore', file, '--data', data])))
  t.strictSame(both.map(({ code }) => code).sort(), [0, 1])
  t.match(both.find(({ code }) => code === 1)?.stderr, /there is a store in|is in use; stop the service/)
  t.match(await runCommand(['check', '--data', data]), { code: 0, stdout: / 0 findings\n$/ })
})

await t.test('a restore that is interrupted removes its copy, and ends by the signal', async (t) => {
  const big = join(directory, 'big.mdb')
  const source = fresh('big')
  const lines = Array.from({ length: 20_000 }, (_, i) => `{"path":"many/${i}","value":${i}}\n`)
  t.match(await runCommand(['import', '--data', source], {}, lines.join('')), { code: 0 })
  t.match(await runCommand(['backup', big, '--data', source]), { code: 0 })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const data = fresh(`interrupted-${signal}`)
    const child = spawn(process.execPath, [mainFile, 'restore', big, '--data', data], { stdio: 'ignore' })
    const ended = once(child, 'close')
    const copy = join(data, 'topics', 'restore.partial')
    await until('it copies', async () => existsSync(copy) || undefined)
    child.kill(signal)
    t.strictSame(await ended, [null, signal])
    t.notOk(existsSync(join(data, 'topics')), 'nothing is left')
    t.match(await runCommand(['restore', big, '--data', data]), { code: 0 }, 'it can be run again at once')
  }
})

await t.test('no store is created where a restore was broken off', async (t) => {
  const data = fresh('broken-off')
  mkdirSync(join(data, 'topics', 'restore.partial', 'topics'), { recursive: true })
  const advice =
    /a restore in \S+broken-off was broken off: run it again; or remove \S+restore\.partial, to begin with an/
  t.match(await runCommand(['keys', 'add', 'k', '--data', data]), { code: 1, stderr: advice })
  t.match(await runCommand(['serve', '--port', '0', '--admin-port', '0', '--data', data]), { code: 1, stderr: advice })
  t.notOk(existsSync(join(data, 'topics', 'data.mdb')))
  t.match(await runCommand(['restore', file, '--data', data]), { code: 0 })
  t.notOk(existsSync(join(data, 'topics', 'restore.partial')))
})

await t.test('a restore that is killed leaves no store or the whole one', async (t) => {
  for (let ms = 100; ms <= 700; ms += 100) {
    const data = fresh(`killed-${ms}`)
    const child = spawn(process.execPath, [mainFile, 'restore', file, '--data', data], { stdio: 'ignore' })
    const ended = once(child, 'close')
    await sleep(ms)
    child.kill('SIGKILL')
    await ended
    if (!existsSync(join(data, 'topics', 'data.mdb'))) {
      t.match(await runCommand(['restore', file, '--data', data]), { code: 0 }, `again after ${ms} ms`)
    }
    t.match(await runCommand(['check', '--data', data]), { code: 0, stdout: / 0 findings\n$/ })
  }
})
