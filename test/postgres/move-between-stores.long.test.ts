/**
 * A whole tree moves from lmdb to PostgreSQL and back by export and import. The last export equals the first, byte for byte. API keys are
 * exported and imported only on request.
 */

import { strict as assert } from 'node:assert'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { openStore } from '../../dist/store/open.js'
import type { Path } from '../../dist/topics/path.js'
import type { Properties } from '../../dist/topics/topic.js'
import { at } from '../support/elements.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { creation, single } from '../support/stores/store.js'

const main = join(import.meta.dirname, '../../dist/main.js')
const engine = await postgres()
const options = { skip: engine === undefined && skipReason, timeout: 600_000 }

/** Runs a command with `input` as its standard input; returns its standard output. */
function run(input: Buffer, ...args: readonly string[]): Buffer {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { input, maxBuffer: 2 ** 28 })
  assert.equal(status, 0, `${args.join(' ')}: ${stderr.toString()}`)
  return stdout
}

await t.test('a tree that moves to PostgreSQL and back is unchanged', options, async (t) => {
  const directory = join(t.testdir(), 'from')
  const from = ['--store', 'lmdb', '--data', directory]
  const postgresStore = ['--store', (await engine?.database()) ?? '', '--data', join(t.testdir(), 'none')]
  const back = ['--store', 'lmdb', '--data', join(t.testdir(), 'back')]

  const source = await openStore('lmdb', { directory })
  const values = [
    '1.10',
    '-0',
    '1e400',
    '12345678901234567890',
    '{"b":1,"a":[],"b":"\\u0000"}',
    'null',
    '"é 𝄞 \\ud800"',
  ]
  const writes: Promise<unknown>[] = []
  for (let i = 0; i < 1200; i++) {
    const path = `tree/${i % 7}/é ${i}`
    const properties: Properties = i % 5 === 0 ? { colour: `${i}`, REMOVAL: 'when no updates for 30d' } : {}
    if (i % 11 === 0) writes.push(single.add(source, creation(path, 'string', properties)))
    else {
      const value = Buffer.from(at(values, i % values.length))
      writes.push(single.addAndSet(source, creation(path, 'json', properties), value))
    }
  }
  await Promise.all(writes)
  await source.addKey({
    name: 'mover',
    tokenHash: 'ab'.repeat(32),
    allow: ['fetch', 'set'],
    under: ['tree/1' as Path],
    madeMs: 5,
    expiresMs: 2e12,
    rate: 5,
    former: { tokenHash: 'cd'.repeat(32), untilMs: 1e12 },
  })
  await source.close()

  const nothing = Buffer.alloc(0)
  const exported = run(nothing, 'export', '--with-keys', ...from)
  t.ok(exported.toString().split('\n').length > 1200, 'one line per topic')
  const withoutKeys = run(nothing, 'export', ...from)
  t.ok(exported.includes('mover') && !withoutKeys.includes('mover'), 'keys are exported only on request')

  run(exported, 'import', ...postgresStore)
  t.ok(run(nothing, 'export', ...postgresStore).equals(withoutKeys), 'from lmdb to PostgreSQL')
  t.notOk(
    run(nothing, 'export', '--with-keys', ...postgresStore).includes('mover'),
    'keys are imported only on request',
  )
  run(exported, 'import', '--with-keys', ...postgresStore)
  t.ok(run(nothing, 'export', '--with-keys', ...postgresStore).equals(exported), 'with the keys')
  run(run(nothing, 'export', '--with-keys', ...postgresStore), 'import', '--with-keys', ...back)
  t.ok(run(nothing, 'export', '--with-keys', ...back).equals(exported), 'from PostgreSQL back to lmdb')
  t.match(run(nothing, 'check', ...postgresStore).toString(), / 0 findings\n$/, 'sound')
})
