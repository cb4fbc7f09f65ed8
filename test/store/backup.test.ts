/** The steps by which a backup survives a power cut, in order. */
import fs, { readlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join, relative } from 'node:path'
import t from 'tap'
import { openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { backup } from '../../dist/store/lmdb/file/backup.js'

t.test('a backup gets its final name only once it is on disk', async (t) => {
  const directory = t.testdir({ store: {} })
  const { root } = openEnvironment(join(directory, 'store'))
  t.teardown(() => root.close())
  const steps: string[] = []
  const { fsyncSync, linkSync } = fs
  fs.fsyncSync = (descriptor) => {
    steps.push(`flush ${relative(directory, readlinkSync(`/proc/self/fd/${descriptor}`))}`)
    fsyncSync(descriptor)
  }
  fs.linkSync = (from, to) => {
    steps.push(`name ${relative(directory, String(to))}`)
    linkSync(from, to)
  }
  syncBuiltinESMExports()
  t.teardown(() => {
    Object.assign(fs, { fsyncSync, linkSync })
    syncBuiltinESMExports()
  })
  const copy = (to: string): Promise<void> => root.backup(to, true)
  await backup(copy, 0, 0, join(directory, 'a.mdb'), () => {}, { aborted: false })
  t.strictSame(steps, ['flush a.mdb.partial/topics/data.mdb', 'name a.mdb', 'flush '], 'in this order')
})
