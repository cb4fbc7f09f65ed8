/**
 * A store with damaged or foreign files is refused with a message that names the file, before lmdb can end the process;
 * sound files that look unusual are opened. Damage inside a tree is the subject of damaged-pages.
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
const meta = {
  version: 28,
  pageSize: 48,
  freeRoot: 88,
  mainRoot: 136,
  lastPage: 144,
  transaction: 152,
} as const

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

const damages: readonly { readonly what: string; readonly damage: (file: string) => void; readonly says: RegExp }[] = [
  {
    what: 'an empty file',
    damage: (file) => truncateSync(file, 0),
    says: /is empty\. If nothing was ever stored here, .*remove the file/,
  },
  {
    what: 'one page, as an interrupted first start leaves it',
    damage: (file) => truncateSync(file, pageBytes),
    says: /ends after 4096 bytes, .*\. If nothing was ever stored here, .*remove the file/,
  },
  {
    what: 'two pages of zeros',
    damage: (file) => writeFileSync(file, Buffer.alloc(2 * pageBytes)),
    says: /all zeros\. If nothing was ever stored here, .*remove the file/,
  },
  {
    what: 'a hundred bytes',
    damage: (file) => truncateSync(file, 100),
    says: /not an LMDB file, or its first page is damaged/,
  },
  {
    what: 'less than two pages',
    damage: (file) => truncateSync(file, 2 * pageBytes - 1),
    says: /ends after 8191 bytes/,
  },
  {
    what: 'two pages',
    damage: (file) => truncateSync(file, 2 * pageBytes),
    says: /is damaged: page \d+ should be the root/,
  },
  {
    what: 'half of the file',
    damage: (file) => truncateSync(file, statSync(file).size / 2),
    says: /is (truncated: it has|damaged: page)/,
  },
  {
    what: 'a file that lacks its last byte',
    damage: (file) => truncateSync(file, statSync(file).size - 1),
    says: /is (truncated: it has|damaged: page)/,
  },
  {
    what: 'zeros',
    damage: (file) => writeFileSync(file, Buffer.alloc(statSync(file).size)),
    says: /first page is all zeros\. Put a backup/,
  },
  {
    what: "another program's file",
    damage: (file) => writeFileSync(file, 'SQLite format 3\0'.repeat(10_000)),
    says: /is not an LMDB file/,
  },
  {
    what: 'a zeroed first page',
    damage: (file) => overwrite(file, 0, Buffer.alloc(pageBytes)),
    says: /first page is all zeros/,
  },
  {
    what: 'a zeroed second page, without which a commit would be lost',
    damage: (file) => overwrite(file, pageBytes, Buffer.alloc(pageBytes)),
    says: /its second page is not a meta page/,
  },
  {
    what: 'a page size of 0',
    damage: (file) => overwrite(file, meta.pageSize, Buffer.alloc(4)),
    says: /its page size as 0/,
  },
  {
    what: 'a page size that is not a power of two',
    damage: (file) => overwrite(file, meta.pageSize, Buffer.from([0, 0x18, 0, 0])),
    says: /its page size as 6144/,
  },
  {
    what: 'another format of LMDB',
    damage: (file) => overwrite(file, meta.version, Buffer.from([3])),
    says: /data format 3; this program reads format 2/,
  },
  {
    what: 'swapped meta pages',
    damage(file) {
      const bytes = readFileSync(file).subarray(0, 2 * pageBytes)
      overwrite(file, 0, Buffer.concat([bytes.subarray(pageBytes), bytes.subarray(0, pageBytes)]))
    },
    says: /swapped/,
  },
  {
    what: 'a root beyond the end',
    damage: (file) => overwrite(file, latestMeta(file) + meta.mainRoot, word(2n ** 40n)),
    says: /page 1099511627776 should be the root of a tree/,
  },
  {
    what: 'roots and a last page beyond what a file can have',
    damage(file) {
      for (const page of [0, pageBytes]) {
        overwrite(file, page + meta.lastPage, word(2n ** 62n))
        overwrite(file, page + meta.mainRoot, word(2n ** 46n))
      }
    },
    says: /page 70368744177664 should be the root of a tree.*\. Put a backup in its place/,
  },
  {
    what: 'a root of the free pages beyond what a file can have',
    damage(file) {
      for (const page of [0, pageBytes]) {
        overwrite(file, page + meta.lastPage, word(2n ** 62n))
        overwrite(file, page + meta.freeRoot, word(2n ** 42n))
      }
    },
    says: /page 4398046511104 should be the root of a tree.*\. Put a backup in its place/,
  },
  {
    what: 'a root of a named tree beyond what a file can have',
    damage(file) {
      const main = readFileSync(file).readBigUInt64LE(latestMeta(file) + meta.mainRoot)
      overwrite(file, namedRoot(file, Number(main)), word(2n ** 47n))
    },
    says: /page 140737488355328 should be the root of a tree.*\. Put a backup in its place/,
  },
  {
    what: 'a free record of more bytes than the file has, on a page that it does not have',
    damage(file) {
      const bytes = readFileSync(file)
      const free = Number(bytes.readBigUInt64LE(latestMeta(file) + meta.freeRoot)) * pageBytes
      const node = free + pageHeaderBytes + bytes.readUInt16LE(free + pageHeaderBytes)
      overwrite(file, node, Buffer.from([0xff, 0xff, 0xff, 0xff, 1, 0]))
      overwrite(file, node + 8 + bytes.readUInt16LE(node + 6), word(2n ** 60n))
      overwrite(file, latestMeta(file) + meta.lastPage, word(2n ** 33n))
    },
    says: /is truncated: .*\. Put a backup in its place/,
  },
  {
    what: 'a zeroed root',
    damage(file) {
      const root = readFileSync(file).readBigUInt64LE(latestMeta(file) + meta.mainRoot)
      overwrite(file, Number(root) * pageBytes, Buffer.alloc(pageBytes))
    },
    says: /page \d+ should be the root of a tree/,
  },
  {
    what: 'a last page beyond the end',
    damage: (file) => overwrite(file, latestMeta(file) + meta.lastPage, word(2n ** 33n)),
    says: /is truncated: .* pages up to 8589934592 are in use/,
  },
  {
    what: 'a directory in its place',
    damage(file) {
      rmSync(file)
      mkdirSync(file)
    },
    says: /is a directory/,
  },
  {
    what: 'a link to nothing',
    damage(file) {
      rmSync(file)
      symlinkSync('/nowhere/data.mdb', file)
    },
    says: /symbolic link to something that does not exist/,
  },
  {
    what: "a directory in the lock file's place",
    damage(file) {
      rmSync(join(dirname(file), 'lock.mdb'), { force: true })
      mkdirSync(join(dirname(file), 'lock.mdb'))
    },
    says: /lock\.mdb is a directory/,
  },
]

await t.test('files that lmdb cannot open safely are refused with a message that names the file', async (t) => {
  for (const { what, damage, says } of damages) {
    const store = copy(damage)
    const { code, stderr, stdout } = await runCommand(['check', '--data', store])
    t.equal(code, 1, `${what}: exit code`)
    t.match(stderr, says, `${what}: what is wrong`)
    t.ok(stderr.includes(`${store}/topics/`), `${what}: the file is named`)
    t.notMatch(stdout, /checked/, `${what}: no success`)
  }
})

await t.test('a service does not start on a damaged store, and reports why', async (t) => {
  const store = copy((file) => truncateSync(file, 3 * pageBytes))
  const flags = ['--port', '0', '--admin-port', '0', '--host', '127.0.0.1', '--workers', '1']
  const { code, stderr } = await runCommand(['serve', '--data', store, ...flags], {}, '', 60_000)
  t.not(code, 0)
  t.not(code, null, 'it ends by itself')
  t.match(stderr, /topics\/data\.mdb is (truncated|damaged)/)
})

await t.test('files that this process may not use are refused with their owner and mode', async (t) => {
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

await t.test('a sound file that ends before its last page is opened', async (t) => {
  const store = join(directory, 'short')
  const { root, meta: table } = openEnvironment(store)
  // In one commit, which may or may not need one more page after them: pages that are allocated at the end of the file
  // and freed again are never written.
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
  t.match(
    await runCommand(['check', '--data', store]),
    { code: 1, stderr: /is (truncated|damaged)/ },
    'with one page less it is refused',
  )
})

await t.test('a meta page with torn content is accepted, since LMDB uses the other one', async (t) => {
  const store = copy((file) => {
    const older = latestMeta(file) === 0 ? pageBytes : 0
    overwrite(file, older + meta.mainRoot, word(2n ** 40n))
  })
  t.match(await runCommand(['check', '--data', store]), { code: 0, stderr: '' })
})

await t.test('a store without its lock file, and a new one, are opened', async (t) => {
  const store = copy((file) => rmSync(join(dirname(file), 'lock.mdb'), { force: true }))
  t.match(await runCommand(['check', '--data', store]), { code: 0, stderr: '' })
  mkdirSync(join(directory, 'new', 'topics'), { recursive: true })
  examine(dataFile(join(directory, 'new')))
})

await t.test('examining a sound store takes less than 5 ms', (t) => {
  const rounds = 200
  const start = performance.now()
  for (let i = 0; i < rounds; i++) examine(dataFile(sound))
  const ms = (performance.now() - start) / rounds
  t.comment(`${ms.toFixed(3)} ms`)
  t.ok(ms < 5, 'a few reads')
  t.end()
})
