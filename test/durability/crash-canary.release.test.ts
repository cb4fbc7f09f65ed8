/**
 * The crash test can fail: it catches builds that acknowledge writes before their commit, commit a batch in two halves, treat every
 * constraint as satisfied, or use a version of a topic twice.
 */
import { join } from 'node:path'
import t from 'tap'
import { hastyCommits } from '../support/faults/hasty-commits.js'
import { patchedProgram } from '../support/faults/patched.js'
import { type Tortured, torture } from '../support/faults/torture.js'
import { halvedWrites } from '../support/load/uniform-subtrees.js'

t.setTimeout(1_200_000)

const careless = `export * from './sound-constraint.js'

export function holds() {
  return true
}
`

const coarse = `import { ChangeLog as SoundLog } from './sound-change-log.js'

export class ChangeLog extends SoundLog {
  add(path, nowMs) {
    const version = super.add(path, nowMs)
    return version - (version % 2 ** 24)
  }
}
`

const violationsOf = ({ load }: Tortured): readonly string[] => load.violations().map(({ path }) => path)

const builds: readonly (readonly [
  what: string,
  module: string,
  replacement: string,
  seconds: number,
  faultsOf: (tortured: Tortured) => readonly string[],
  fault: RegExp,
])[] = [
  ['acknowledges early', 'store/lmdb/commit/commits.js', hastyCommits, 20, violationsOf, /^load/],
  ['commits batches in halves', 'store/writer/link.js', halvedWrites, 10, ({ faults }) => faults, /with the numbers/],
  ['treats every constraint as satisfied', 'topics/constraint.js', careless, 5, violationsOf, /^load/],
  [
    'uses versions twice',
    'store/lmdb/commit/change-log.js',
    coarse,
    5,
    ({ load }) => load.versionFaults(),
    /version \d+ has the value v\d+, and v\d+/,
  ],
]

for (const [what, module, replacement, seconds, faultsOf, fault] of builds) {
  t.test(`the crash test catches a build that ${what}`, async (t) => {
    const program = patchedProgram(join(t.testdir(), 'faulty'), module, replacement)
    await t.test('the crash test finds the fault under load', async (t) => {
      const faults = faultsOf(await torture(t, { seconds, program }))
      t.ok(
        faults.some((found) => fault.test(found)),
        `${faults.length} faults, such as ${faults[0]}`,
      )
    })
  })
}
