/**
 * A store with damaged or foreign files is rejected with a message that names the file, before lmdb can end the process. Sound files that
 * look unusual are opened. damaged-pages tests damage inside a tree.
 */
import { strict as assert } from 'node:assert'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { examine } from '../../dist/store/lmdb/environment/preflight.js'
import { runCommand } from '../support/service/server.js'
import { makeDirectory } from '../support/stores/store.js'

const pageBytes = 4096
const pageHeaderBytes = 24
const directory = t.testdir()
const sound = join(directory, 'sound')
const dataFile = (store: string): string => join(store, 'topics', 'data.mdb')
await makeDirectory(
  sound,
  Array.from({ length: 5000 }, (_, i) => `t/${i}`),
)

let copies = 0

/** A copy of the sound store, after `damage` was applied to its data file. */
function copy(damage: (file: string) => void): string {
  const store = join(directory, `copy-${++copies}`)
  cpSync(sound, store, { recursive: true })
  damage(dataFile(store))
  return store
}

function overwrite(file: string, offset: number, bytes: Buffer): void {
  writeSync(openSync(file, 'r+'), bytes, 0, bytes.length, offset)
}

/** Offsets in a meta page. */
const meta = { version: 28, pageSize: 48, freeRoot: 88, mainRoot: 136, lastPage: 144, transaction: 152 } as const

/** The offset of the meta page that LMDB uses. */
function latestMeta(file: string): number {
  const bytes = readFileSync(file)
  const transactionAt = (page: number): bigint => bytes.readBigUInt64LE(page + meta.transaction)
  return transactionAt(pageBytes) > transactionAt(0) ? pageBytes : 0
}

/** The offset of the root's page number in the first entry of `page`, which is the main tree's root and a leaf. */
function namedRoot(file: string, page: number): number {
  const bytes = readFileSync(file)
  const node = page * pageBytes + pageHeaderBytes + bytes.readUInt16LE(page * pageBytes + pageHeaderBytes)
  return node + 8 + bytes.readUInt16LE(node + 6) + 40
}

function word(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}

type Damage = readonly [what: string, damage: (file: string) => void, says: RegExp]

/** A crash before the first commit may also leave such files. */
const maybeNew = / If nothing was ever stored here .*remove the file/

const atEveryMeta = (file: string, field: number, value: bigint): void => {
  for (const page of [0, pageBytes]) {
    overwrite(file, page + meta.lastPage, word(2n ** 62n))
    overwrite(file, page + field, word(value))
  }
}

const damages: readonly Damage[] = [
  ['an empty file', (file) => truncateSync(file, 0), /is empty\./],
  [
    'one page, as an interrupted first start leaves it',
    (file) => truncateSync(file, pageBytes),
    /ends after 4096 bytes, /,
  ],
  ['two pages of zeros', (file) => writeFileSync(file, Buffer.alloc(2 * pageBytes)), /all zeros\./],
  [
    'a file without its last byte',
    (file) => truncateSync(file, statSync(file).size - 1),
    /is (truncated: it has|damaged: page)/,
  ],
  ["another program's file", (file) => writeFileSync(file, 'SQLite format 3\0'.repeat(10_000)), /is not an LMDB file/],
  ['a zeroed first page', (file) => overwrite(file, 0, Buffer.alloc(pageBytes)), /first page is all zeros/],
  [
    'a zeroed second page, without which a commit would be lost',
    (file) => overwrite(file, pageBytes, Buffer.alloc(pageBytes)),
    /its second page is not a meta page/,
  ],
  [
    'a page size that is not a power of two',
    (file) => overwrite(file, meta.pageSize, Buffer.from([0, 0x18, 0, 0])),
    /states a page size of 6144/,
  ],
  [
    'another format of LMDB',
    (file) => overwrite(file, meta.version, Buffer.from([3])),
    /format 3; this program reads format 2/,
  ],
  [
    'swapped meta pages',
    (file) => {
      const bytes = readFileSync(file).subarray(0, 2 * pageBytes)
      overwrite(file, 0, Buffer.concat([bytes.subarray(pageBytes), bytes.subarray(0, pageBytes)]))
    },
    /swapped/,
  ],
  [
    'roots and a last page beyond the largest file',
    (file) => atEveryMeta(file, meta.mainRoot, 2n ** 46n),
    /page 70368744177664 is not the root of a tree/,
  ],
  [
    'a root of the free pages beyond the largest file',
    (file) => atEveryMeta(file, meta.freeRoot, 2n ** 42n),
    /page 4398046511104 is not the root of a tree/,
  ],
  [
    'a root of a named tree beyond the largest file',
    (file) => {
      const main = readFileSync(file).readBigUInt64LE(latestMeta(file) + meta.mainRoot)
      overwrite(file, namedRoot(file, Number(main)), word(2n ** 47n))
    },
    /page 140737488355328 is not the root of a tree/,
  ],
  [
    'a free record of more bytes than the file has, on a page that it does not have',
    (file) => {
      const bytes = readFileSync(file)
      const free = Number(bytes.readBigUInt64LE(latestMeta(file) + meta.freeRoot)) * pageBytes
      const node = free + pageHeaderBytes + bytes.readUInt16LE(free + pageHeaderBytes)
      overwrite(file, node, Buffer.from([0xff, 0xff, 0xff, 0xff, 1, 0]))
      overwrite(file, node + 8 + bytes.readUInt16LE(node + 6), word(2n ** 60n))
      overwrite(file, latestMeta(file) + meta.lastPage, word(2n ** 33n))
    },
    /is truncated: /,
  ],
  [
    'a zeroed root',
    (file) => {
      const root = readFileSync(file).readBigUInt64LE(latestMeta(file) + meta.mainRoot)
      overwrite(file, Number(root) * pageBytes, Buffer.alloc(pageBytes))
    },
    /page \d+ is not the root of a tree/,
  ],
  [
    'a last page beyond the end',
    (file) => overwrite(file, latestMeta(file) + meta.lastPage, word(2n ** 33n)),
    /is truncated: .* pages up to 8589934592 are in use/,
  ],
  [
    'a directory in its place',
    (file) => {
      rmSync(file)
      mkdirSync(file)
    },
    /is a directory/,
  ],
  [
    'a link to nothing',
    (file) => {
      rmSync(file)
      symlinkSync('/nowhere/data.mdb', file)
    },
    /symbolic link whose target does not exist/,
  ],
  [
    "a directory in the lock file's place",
    (file) => {
      rmSync(join(dirname(file), 'lock.mdb'), { force: true })
      mkdirSync(join(dirname(file), 'lock.mdb'))
    },
    /lock\.mdb is a directory/,
  ],
]

await t.test('a file that lmdb cannot open safely is rejected, and the error names it', async (t) => {
  for (const [i, [what, damage, says]] of damages.entries()) {
    const store = copy(damage)
    const fails = (wanted: RegExp): unknown => t.throws(() => examine(dataFile(store)), { message: wanted }, what)
    fails(says)
    fails(new RegExp(`${store}/topics/`))
    if (i < 3) fails(maybeNew)
    else if (/^\/(page|is trunc)/.test(String(says))) fails(/\. Put a backup in its place/)
  }
  t.match(await runCommand(['check', '--data', copy((file) => truncateSync(file, 100))]), {
    code: 1,
    stdout: '',
    stderr: /not an LMDB file/,
  })
})

await t.test('a service does not start on a damaged store, and reports the damage', async (t) => {
  const store = copy((file) => truncateSync(file, 3 * pageBytes))
  const flags = ['--port', '0', '--admin-port', '0', '--host', '127.0.0.1', '--workers', '1']
  const { code, stderr } = await runCommand(['serve', '--data', store, ...flags], {}, '', 60_000)
  t.not(code, 0)
  t.not(code, null, 'the service exits on its own')
  t.match(stderr, /topics\/data\.mdb is (truncated|damaged)/)
})

await t.test("the error for a file that the process may not use names the file's owner and mode", async (t) => {
  const nobody = 65_534
  const isRoot = process.getuid?.() === 0
  for (const name of ['lock.mdb', 'data.mdb']) {
    const store = copy(() => {})
    const topics = join(store, 'topics')
    for (const path of [store, topics]) chmodSync(path, 0o777)
    for (const path of ['lock.mdb', 'data.mdb'])
      chmodSync(join(topics, path), path === name ? (isRoot ? 0o600 : 0o000) : 0o666)
    const script = `import { examine } from ${JSON.stringify(join(import.meta.dirname, '../../dist/store/lmdb/environment/preflight.js'))}
      examine(${JSON.stringify(dataFile(store))})`
    const user = isRoot ? { uid: nobody, gid: nobody } : {}
    const { status, stderr, error } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      ...user,
    })
    assert.equal(error, undefined)
    t.equal(status, 1, name)
    const owner = String(process.getuid?.())
    t.match(
      stderr,
      new RegExp(
        `${name}: this process .* cannot read and write it .*is owned by uid ${owner}, .* mode 0${isRoot ? 6 : 0}00`,
      ),
    )
  }
})

await t.test('an intact file that ends before its last allocated page is accepted', async (t) => {
  const store = join(directory, 'short')
  const { root, meta: table } = openEnvironment(store)
  // Pages that are allocated at the end of the file and freed again in the same commit are never written. The commit may or may not need
  // one more page after them.
  const allocateAndFree = async (bytes: number): Promise<{ readonly pages: number; readonly last: number }> => {
    await root.transaction(() => {
      table.putSync('big', Buffer.alloc(bytes))
      table.removeSync('big')
      table.putSync('small', Buffer.from(String(bytes)))
    })
    const content = readFileSync(dataFile(store))
    const last = Number(content.readBigUInt64LE(latestMeta(dataFile(store)) + meta.lastPage))
    return { pages: content.length / pageBytes, last }
  }
  let { pages, last } = await allocateAndFree(300_000)
  for (let bytes = 600_000; pages > last && bytes < 10_000_000; bytes *= 2) {
    ;({ pages, last } = await allocateAndFree(bytes))
  }
  await root.close()
  t.ok(pages <= last, `${pages} pages, the last one is ${last}`)
  t.match(await runCommand(['check', '--data', store]), { code: 0, stderr: '' })
  truncateSync(dataFile(store), (pages - 1) * pageBytes)
  t.throws(() => examine(dataFile(store)), { message: /is (truncated|damaged)/ }, 'one page less is rejected')
})

await t.test('a meta page with torn content is accepted, because LMDB uses the other meta page', (t) => {
  const store = copy((file) => {
    const older = latestMeta(file) === 0 ? pageBytes : 0
    overwrite(file, older + meta.mainRoot, word(2n ** 40n))
  })
  t.equal(examine(dataFile(store)), false)
  t.end()
})

await t.test('a store without its lock file and a new store are opened', async (t) => {
  const store = copy((file) => rmSync(join(dirname(file), 'lock.mdb'), { force: true }))
  t.match(await runCommand(['check', '--data', store]), { code: 0, stderr: '' })
  mkdirSync(join(directory, 'new', 'topics'), { recursive: true })
  t.equal(examine(dataFile(join(directory, 'new'))), true)
})
