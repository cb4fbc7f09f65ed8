/**
 * A page that was damaged inside a store: lmdb returns what it can without an error, so check, export and backup must
 * notice what is missing. One page of a closed store is overwritten, with zeros or with another page, and none of the
 * three may succeed.
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
const topics = 20_000

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

/** The numbers of the pages that hold many entries, in the order of the file. */
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

/** On some pages of zeros an assertion in lmdb ends the process; damage-met-midway tests the message. */
const zeros = 'zeros in its place'

const damages: Readonly<Record<string, (bytes: Buffer, offset: number) => void>> = {
  [zeros]: (bytes, offset) => bytes.fill(0, offset, offset + pageBytes),
  'the page before it in its place': (bytes, offset) => bytes.copy(bytes, offset, offset - pageBytes, offset),
  'the content of the page before it': (bytes, offset) => bytes.copy(bytes, offset + 8, offset + 8 - pageBytes, offset),
}

await t.test('check, export and backup succeed on a store without damage', async (t) => {
  const data = store('sound', sound)
  t.match(await runCommand(['check', '--data', data]), {
    code: 0,
    stdout: 'checked, 0 findings\n',
  })
  const exported = await runCommand(['export', '--data', data])
  t.equal(exported.code, 0)
  t.equal(exported.stdout.trimEnd().split('\n').length, topics + 1, 'its topics, and the line that ends it')
  t.match(await runCommand(['backup', join(directory, 'sound.mdb'), '--data', data]), { code: 0 })
})

for (const [what, damage] of Object.entries(damages)) {
  for (const share of [0.25, 0.75]) {
    const page = at(leaves, Math.floor(leaves.length * share))
    await t.test(
      `check, export and backup fail: page ${page} of ${sound.length / pageBytes} with ${what}`,
      async (t) => {
        const bytes = Buffer.from(sound)
        damage(bytes, page * pageBytes)
        const data = store(`damaged-${page}-${what.replaceAll(' ', '-')}`, bytes)
        const again = `${data}-again`
        cpSync(data, again, { recursive: true })

        const check = await runCommand(['check', '--data', data])
        t.not(check.code, 0, 'check')
        if (what !== zeros || check.code === 1)
          t.match(check.stdout + check.stderr, /(damaged|out of order|no item|no such specification)/)
        t.comment(check.stdout.split('\n').slice(0, 2).join('\n'))

        const exported = await runCommand(['export', '--data', again])
        t.not(exported.code, 0, 'export')
        if (what !== zeros || exported.code === 1) t.match(exported.stderr, /damaged/)
        t.comment(`${exported.stdout.split('\n').length - 1} lines and: ${exported.stderr}`)

        const file = `${data}.mdb`
        const backup = await runCommand(['backup', file, '--data', again])
        t.not(backup.code, 0, 'backup')
        if (what !== zeros || backup.code === 1) t.match(backup.stderr, /no backup|damaged/)
        t.notOk(existsSync(file), 'no backup file is left')
      },
    )
  }
}
