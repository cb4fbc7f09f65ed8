/** Data directories that other accounts can reach, and the remedy. */
import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { exposure } from '../../dist/cluster/directory-lock.js'

const needsRoot = process.getuid?.() === 0 ? undefined : 'a directory of another account needs root'

const other = 65534

t.test('a data directory that this account owns must be private', async (t) => {
  const directory = t.testdir()
  chmodSync(directory, 0o700)
  t.equal(exposure(directory), undefined)
  chmodSync(directory, 0o750)
  t.strictSame(exposure(directory), { mode: '750', cure: 'run chmod 700 on it' })
})

t.test("another account's data directory may be readable by this account's group", { skip: needsRoot }, async (t) => {
  const directory = join(t.testdir(), 'volume')
  mkdirSync(directory)
  const of = (group: number, mode: number): ReturnType<typeof exposure> => {
    chownSync(directory, other, group)
    chmodSync(directory, mode)
    return exposure(directory)
  }
  const cure = 'it should belong to this account, with mode 700'
  t.equal(of(process.getgid?.() ?? 0, 0o770), undefined)
  t.strictSame(of(process.getgid?.() ?? 0, 0o777), { mode: '777', cure })
  t.strictSame(of(other, 0o770), { mode: '770', cure })
})
