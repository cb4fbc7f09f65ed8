/**
 * The crash test can fail: it catches a service that acknowledges writes before they are committed, one that does not
 * decide constraints, and one that gives a topic the version that it had. The faults are planted in copies of the build.
 */
import { join } from 'node:path'
import t from 'tap'
import { hastyCommits } from '../support/faults/hasty-commits.js'
import { patchedProgram } from '../support/faults/patched.js'
import { torture } from '../support/faults/torture.js'
import type { Load } from '../support/load/load.js'

t.setTimeout(600_000)

const program = patchedProgram(join(t.testdir(), 'faulty'), 'store/lmdb/write/commits.js', hastyCommits)

await t.test('a build that acknowledges writes before they are committed is caught', async (t) => {
  const enough = ({ acknowledged }: Load): boolean => acknowledged > 2000
  const { load } = await torture(t, { seconds: 20, program, enough, constantTopics: 0 })
  const violations = load.violations()
  t.not(violations.length, 0, `${violations.length} histories cannot be explained`)
})

await t.test('a build in which every constraint holds is caught', async (t) => {
  const careless = patchedProgram(
    join(t.testdir(), 'careless'),
    'topics/constraint.js',
    `export * from './sound-constraint.js'

export function holds() {
  return true
}
`,
  )
  await t.test('under load', async (t) => {
    const { load } = await torture(t, { seconds: 5, program: careless })
    const violations = load.violations()
    t.not(violations.length, 0, `${violations.length} histories cannot be explained`)
  })
})

await t.test('a build that gives versions twice is caught', async (t) => {
  const coarse = patchedProgram(
    join(t.testdir(), 'coarse'),
    'store/lmdb/write/slab.js',
    `export * from './sound-slab.js'
import { putItem as putSoundItem } from './sound-slab.js'

export function putItem(table, path, item, version) {
  putSoundItem(table, path, item, version - (version % 2 ** 24))
}
`,
  )
  await t.test('under load', async (t) => {
    const { load } = await torture(t, { seconds: 5, program: coarse })
    const faults = load.versionFaults()
    t.match(faults[0], /version \d+ has the value v\d+, and v\d+/, `${faults.length} versions are wrong`)
  })
})
