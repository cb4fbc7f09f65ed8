/**
 * The benchmark over PostgreSQL still runs, tiny and for a moment, and all its answers are right. The figures mean nothing
 * here.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'tap'
import { postgres, skipReason } from './support/postgres.js'

const program = join(import.meta.dirname, '../dist-bench/postgres.js')
const engine = await postgres()
const skip = engine === undefined ? skipReason : engine.cluster === undefined && 'POSTGRESQL IS NOT INSTALLED HERE'

test('the benchmark over PostgreSQL', { skip, timeout: 120_000 }, async (t) => {
  const home = t.testdir()
  const args = [program, '--smoke', '--dir', home, '--keep', join(home, 'kept'), 'overwrite-256', 'page-10']
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, NODE_OPTIONS: '' } })
  t.notMatch(stdout, 'NO FIGURES', 'every answer is right')
  for (const claim of [/^ {2}postgres /m, /^ {2}postgres-each /m, /requests a commit/, /single-row upserts\/s/, /rounds reach/]) {
    t.match(stdout, claim, String(claim))
  }
})
