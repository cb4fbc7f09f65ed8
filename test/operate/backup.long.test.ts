/** The restore drill: a backup taken under write load is restored, and is a complete and sound snapshot. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import type { Path } from '../../dist/topics/path.js'
import { at } from '../support/elements.js'
import { runCommand, type Server, startServer, until } from '../support/service/server.js'
import { single } from '../support/stores/store.js'

const pairs = 4

/** Repeatedly writes a number to one topic and then to its partner, which is thus never ahead; returns the last number. */
async function writePairs(server: Server, pair: number, stopped: () => boolean): Promise<number> {
  const client = server.connect()
  let number = 0
  while (!stopped()) {
    number++
    for (const topic of ['a', 'b']) {
      const { status, text } = await client.post('addAndSet', { path: `pairs/${pair}/${topic}`, value: number })
      if (status !== 200) throw new Error(text)
    }
  }
  return number
}

async function lastBackup({ adminUrl }: Server): Promise<string | undefined> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
  return /^topicd_last_backup_timestamp_seconds (\S+)$/m.exec(metrics)?.[1]
}

const directory = t.testdir()
const file = join(directory, 'backup.mdb')

await t.test('a backup taken under load can be restored to a complete and intact snapshot', async (t) => {
  const server = await startServer(t, { workers: 2, dataDir: join(directory, 'db') })
  // Enough to slow down the copy.
  const filler = 'x'.repeat(50_000)
  await Promise.all(
    Array.from({ length: 100 }, (_, i) => server.post('addAndSet', { path: `filler/${i}`, value: filler })),
  )
  let stopped = false
  const writers = Array.from({ length: pairs }, (_, pair) => writePairs(server, pair, () => stopped))
  for (let pair = 0; pair < pairs; pair++) {
    const probe = async () => (await server.post('fetch', { path: `pairs/${pair}/b` })).status === 200 || undefined
    await until(`pair ${pair} is written`, probe)
  }
  t.match(await server.command('backup', join(directory, 'first.mdb')), { code: 0 })
  const firstBackup = await lastBackup(server)
  const { code, stdout, stderr } = await server.command('backup', file)
  const after = await Promise.all(
    Array.from({ length: pairs }, (_, pair) => server.post('fetch', { path: `pairs/${pair}/a` })),
  )
  stopped = true
  const written = await Promise.all(writers)
  t.equal(code, 0, stderr)
  t.match(stdout, /^\S+\/backup\.mdb: \d+ bytes, checked\n$/)
  t.equal(stderr, '', 'no progress is shown without a terminal')
  t.equal(statSync(file).mode & 0o777, 0o600, 'only its owner may read it')
  t.notOk(existsSync(`${file}.partial`), 'no other file is left')
  t.comment(`${Math.min(...written)} to ${Math.max(...written)} pairs were written`)

  const onto = await runCommand(['restore', file, '--data', server.dataDir])
  t.match(onto, {
    code: 1,
    stderr: /\S+ already contains a store, and a restore never replaces one; stop the service/,
  })
  const before = readFileSync(file)
  const restored = join(directory, 'restored')
  mkdirSync(restored)
  t.match(await runCommand(['restore', file, '--data', restored]), {
    code: 0,
    stdout: /data\.mdb: \d+ bytes, checked; the service can be started/,
    stderr: '',
  })
  t.ok(before.equals(readFileSync(file)), 'the backup is unchanged')
  t.notOk(existsSync(join(restored, 'topics', 'restore.partial')))
  const drill = await startServer(t, { dataDir: restored, token: server.token })
  const numbers = new Map<string, number>()
  for (const { results } of await drill.client.walk('*pairs//', { size: 5 })) {
    for (const { path, value } of results) numbers.set(path, Number(value))
  }
  for (let pair = 0; pair < pairs; pair++) {
    const a = numbers.get(`pairs/${pair}/a`) ?? NaN
    const b = numbers.get(`pairs/${pair}/b`) ?? NaN
    t.ok(a === b || a === b + 1, `pair ${pair}: ${a} and ${b}`)
    t.ok(a <= Number((JSON.parse(at(after, pair).text) as { value: number }).value), 'nothing is from after the backup')
  }
  const fillers = (await drill.client.walk('*filler//', { size: 100 })).flatMap(({ results }) => results)
  t.equal(fillers.length, 100, 'the backup has everything from before it')
  t.ok(fillers.every(({ value }) => value === filler))
  t.equal(await lastBackup(drill), firstBackup, 'a backup is recorded only after its copy is complete')
  t.match(await drill.post('addAndSet', { path: 'after', value: 1 }), { status: 200 }, 'the service accepts writes')
})

await t.test('a backup replaces no file, and leaves no file behind if it fails', async (t) => {
  const dataDir = join(directory, 'db')
  const taken = join(directory, 'taken')
  writeFileSync(taken, 'precious')
  const cases = [
    { args: [taken], code: 1, stderr: /taken already exists; a backup never replaces a file/ },
    { args: [join(directory, 'nowhere', 'file')], code: 1, stderr: /there is no directory \S+nowhere/ },
    { args: ['/proc/backup.mdb'], code: 1, stderr: /topicd: / },
    { args: [], code: 2, stderr: /FILE or --into DIR is missing/ },
  ]
  for (const { args, code, stderr } of cases)
    t.match(await runCommand(['backup', ...args, '--data', dataDir]), { code, stderr }, args.join(' '))
  t.equal(readFileSync(taken, 'utf8'), 'precious')
  const partial = readdirSync(directory).filter((name) => name.includes('partial'))
  t.strictSame(partial, [])
  const offline = join(directory, 'offline.mdb')
  t.match(await runCommand(['backup', offline, '--data', dataDir]), { code: 0 }, 'a backup works without a service')
  t.ok(statSync(offline).size > 4096)
})

await t.test('a backup does not replace a file that appears during the backup', async (t) => {
  const store = openLmdbStore({ directory: join(directory, 'meanwhile') })
  t.teardown(() => store.close())
  await single.add(store, { path: 'a' as Path, type: 'json', properties: {}, removal: undefined })
  const file = join(directory, 'meanwhile.mdb')
  const appear = (step: string): void => {
    if (step === 'checking') writeFileSync(file, 'precious')
  }
  await t.rejects(
    Promise.resolve(store.backup?.(file, 0, appear, { aborted: false })),
    /meanwhile\.mdb already exists; a backup never replaces a file/,
  )
  t.equal(readFileSync(file, 'utf8'), 'precious')
  t.notOk(existsSync(`${file}.partial`))
})

await t.test('a complete backup succeeds even if the store cannot record its time', async (t) => {
  const store = openLmdbStore({ directory: join(directory, 'noted') })
  await single.add(store, { path: 'a' as Path, type: 'json', properties: {}, removal: undefined })
  const file = join(directory, 'unnoted.mdb')
  let closed: Promise<void> | undefined
  const close = (step: string): void => {
    if (step === 'checking') closed ??= store.close()
  }
  const done = await store.backup?.(file, 0, close, { aborted: false })
  await closed
  t.match(done, { records: 2, unnoted: 'the store is closed' })
  t.equal(statSync(file).size, done?.bytes)
})
