/**
 * A damaged page inside a store: lmdb returns the readable rest without an error, so check, export and backup must notice missing data. One
 * page of a closed store is overwritten, with zeros or with another page, and all three must fail.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import { at } from '../support/elements.js'
import { runCommand } from '../support/service/server.js'
import { load } from '../support/stores/store.js'

const pageBytes = 4096
const leafFlag = 0x02
const topics = 5000

const directory = t.testdir()
const compact = join(directory, 'compact.mdb')
const source = openLmdbStore({ directory: join(directory, 'source') })
await load(
  source,
  Array.from({ length: topics }, (_, i) => `t/${i}`),
)
// In a compacted file every page is in use.
await source.backup?.(compact, 0, () => {}, { aborted: false })
await source.close()
const sound = readFileSync(compact)

/** The numbers of the pages with many entries, in file order. */
const leaves = Array.from({ length: sound.length / pageBytes }, (_, page) => page).filter((page) => {
  const offset = page * pageBytes
  return (sound.readUInt16LE(offset + 18) & leafFlag) !== 0 && sound.readUInt16LE(offset + 20) / 2 > 10
})

function store(name: string, bytes: Buffer): string {
  const data = join(directory, name)
  mkdirSync(join(data, 'topics'), { recursive: true })
  writeFileSync(join(data, 'topics', 'data.mdb'), bytes)
  return data
}

/** On some zeroed pages an assertion in lmdb ends the process; damage-met-midway tests the message. */
const zeros = 'only zeros'

const damages: Readonly<Record<string, (bytes: Buffer, offset: number) => void>> = {
  [zeros]: (bytes, offset) => bytes.fill(0, offset, offset + pageBytes),
  'a copy of the page before': (bytes, offset) => bytes.copy(bytes, offset, offset - pageBytes, offset),
  'the content of the page before': (bytes, offset) => bytes.copy(bytes, offset + 8, offset + 8 - pageBytes, offset),
}

for (const [i, [what, damage]] of Object.entries(damages).entries()) {
  // A different page from the middle of the tree each time.
  const page = at(leaves, Math.floor((leaves.length * (i + 1)) / 4))
  await t.test(`check, export and backup fail if page ${page} contains ${what}`, async (t) => {
    const bytes = Buffer.from(sound)
    damage(bytes, page * pageBytes)
    const data = store(`damaged-${page}`, bytes)
    const again = `${data}-again`
    cpSync(data, again, { recursive: true })
    const fails = async (text: RegExp, ...args: readonly string[]): Promise<void> => {
      const { code, stdout, stderr } = await runCommand(args)
      t.not(code, 0, args.join(' '))
      if (what !== zeros || code === 1) t.match(stdout + stderr, text)
    }
    await fails(/(damaged|out of order|no item|no such specification)/, 'check', '--data', data)
    await fails(/damaged/, 'export', '--data', again)
    await fails(/no backup|damaged/, 'backup', `${data}.mdb`, '--data', again)
    t.notOk(existsSync(`${data}.mdb`), 'no backup file is left')
  })
}
