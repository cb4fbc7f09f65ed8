/**
 * `no updates for` counts the time during which the machine slept. A time namespace simulates the sleep: inside it, the clock that advances
 * during sleep is ahead, and the clock that stops during sleep is not.
 */

import { strict as assert } from 'node:assert'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { first, present } from '../support/elements.js'

const sleptSeconds = 2 * 60 * 60

const asleep = ['unshare', '--time', '--boottime', String(sleptSeconds)]
const { status, stderr } = spawnSync(first(asleep), [...asleep.slice(1), 'true'], { encoding: 'utf8' })
const skip = status === 0 ? false : `NO TIME NAMESPACE HERE: ${stderr.trim()}`

const dist = join(import.meta.dirname, '../../dist')

/** Runs the source of a module in its own process, with `openLmdbStore` and `clock` imported; returns the JSON that it prints. */
function run(command: readonly string[], text: string): unknown {
  const imports = `import * as clock from '${dist}/base/clock.js'\nimport { openLmdbStore } from '${dist}/store/lmdb/open.js'\n`
  const [program, ...args] = [...command, process.execPath, '--input-type=module', '-e', imports + text]
  const { stdout, stderr } = spawnSync(present(program), args, { encoding: 'utf8' })
  assert.equal(stderr, '')
  return JSON.parse(stdout)
}

t.test('the time between two moments includes the time that the machine slept', { skip }, async (t) => {
  const before = run([], 'console.log(JSON.stringify(clock.now()))')
  const passedMs = run(
    asleep,
    `const present = clock.now(); console.log(present.wallMs - clock.wallMsOf(${JSON.stringify(before)}, present))`,
  ) as number
  t.ok(passedMs >= sleptSeconds * 1000, `${passedMs} ms`)
  t.ok(passedMs < (sleptSeconds + 60) * 1000)
})

t.test('the clock in a container with its own uptime does not fall behind', { skip }, async (t) => {
  const uptime = join(t.testdir({ uptime: '60.00 1.00\n' }), 'uptime')
  const container = ['unshare', '--mount', 'sh', '-c', `mount --bind '${uptime}' /proc/uptime && exec "$@"`, 'sh']
  const nowMs = (command: readonly string[]): number => run(command, 'console.log(clock.now().steadyMs)') as number
  const before = nowMs([])
  const inside = nowMs(container)
  t.ok(inside >= before, `${inside} ms after ${before} ms`)
})

t.test('a time stored by a version that did not count sleep is compared by the wall clock', { skip }, async (t) => {
  const { boot, ...moment } = run([], 'console.log(JSON.stringify(clock.now()))') as { boot: string; wallMs: number }
  const old = { ...moment, boot: boot.replace('b:', '') }
  t.equal(run(asleep, `console.log(clock.wallMsOf(${JSON.stringify(old)}, clock.now()))`), moment.wallMs)
})

t.test("the sleep of the machine counts towards a topic's time without updates", { skip }, async (t) => {
  const directory = join(t.testdir(), 'db')
  const open = `import { planSelector } from '${dist}/selectors/planner.js'
import { removalOf } from '${dist}/topics/properties.js'
import { storedForms } from '${dist}/store/topics.js'
const creation = (path, properties) => ({ path, type: 'json', properties, removal: removalOf(properties) })
const store = openLmdbStore({ directory: ${JSON.stringify(directory)} })
`
  const add = (path: string, removal: string): string =>
    `await store.write([{ kind: 'add', ...creation('${path}', { REMOVAL: '${removal}' }) }])\n`
  run(
    [],
    `${open}${add('due', 'when no updates for 1h')}${add('kept', 'when no updates for 3h')}console.log(1)\nawait store.close()`,
  )
  t.strictSame(
    run(
      [],
      `${open}const { removed } = await store.removeDue(planSelector); console.log(removed)\nawait store.close()`,
    ),
    0,
  )
  const left = run(
    asleep,
    `${open}await store.removeDue(planSelector); console.log(JSON.stringify(['due', 'kept'].filter((path) => typeof store.readTopic(path, storedForms.json) !== 'string')))
    await store.close()`,
  )
  t.strictSame(left, ['kept'])
})
