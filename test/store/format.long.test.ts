/**
 * The version of the stored format. A new store gets it; a store in another format is rejected before anything else in it is read or
 * changed.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Environment } from '../../dist/store/lmdb/environment/environment.js'
import { dataFile } from '../../dist/store/lmdb/environment/files.js'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import { runCommand } from '../support/service/server.js'
import { inside } from '../support/stores/environment.js'
import { makeDirectory } from '../support/stores/store.js'

const versionOf = ({ meta }: Environment): number | undefined => meta.get('format')?.readDoubleBE()

function record(version: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(version)
  return bytes
}

await t.test('a new store gets and keeps the format version', async (t) => {
  const directory = join(t.testdir(), 'db')
  await makeDirectory(directory, ['a'])
  t.equal(await inside(directory, versionOf), 3)
  t.equal(await inside(directory, versionOf), 3)
})

await t.test('a store in another format is rejected with advice and left unchanged', async (t) => {
  for (const [format, advice] of [
    [4, 'is in format 4, written by a newer topicd; this version supports format 3: run the newer one'],
    [
      2,
      'is in format 2, written by a build before 1.0.0; this version supports format 3: export its topics with that build',
    ],
    [undefined, 'is in format 0, written by a build before 1.0.0'],
  ] as const) {
    const directory = join(t.testdir(), String(format))
    await makeDirectory(directory, ['a'])
    await inside(directory, ({ meta }) =>
      format === undefined ? meta.removeSync('format') : meta.putSync('format', record(format)),
    )
    const before = readFileSync(dataFile(directory))
    const message = new RegExp(`topics/data\\.mdb ${advice}`)
    t.throws(() => openLmdbStore({ directory }), message)
    t.throws(() => openLmdbStore({ directory }), message, 'the first attempt closed the store')
    t.match(await runCommand(['check', '--data', directory]), { code: 1, stderr: message })
    t.ok(readFileSync(dataFile(directory)).equals(before), 'no byte of the file has changed')
  }
})

await t.test('only an interrupted creation of a store is restarted', async (t) => {
  const blank = join(t.testdir(), 'blank')
  const file = join(blank, 'topics', 'data.mdb')
  const mark = join(blank, 'topics', 'new')
  for (const remains of [Buffer.alloc(0), Buffer.alloc(4096)]) {
    mkdirSync(join(blank, 'topics'), { recursive: true })
    writeFileSync(file, remains)
    const check = await runCommand(['check', '--data', blank])
    t.match(check, { code: 1, stderr: /If nothing was ever stored here/ }, 'an unmarked file may be a damaged store')
    writeFileSync(mark, '')
    t.equal(await inside(blank, versionOf), 3, 'with the mark, the store is empty')
    t.notOk(existsSync(mark), 'a completed creation has no mark')
    rmSync(blank, { recursive: true })
  }

  // A power cut after the first commit, before the mark was removed.
  await makeDirectory(blank, ['a'])
  writeFileSync(mark, '')
  t.match(await runCommand(['check', '--data', blank]), { code: 0, stdout: 'checked, 0 findings\n' })
  t.notOk(existsSync(mark), 'a sound store is used, and the mark removed')

  writeFileSync(mark, '')
  writeFileSync(file, Buffer.alloc(1_000_000))
  t.match(await runCommand(['check', '--data', blank]), { code: 1, stderr: /its first page is all zeros/ })
  t.ok(existsSync(file), 'a damaged store is rejected, marked or not')
})
