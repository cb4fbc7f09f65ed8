/**
 * The benchmarks over PostgreSQL still run, on little data and for a moment, and all their answers are right. Their
 * figures mean nothing here.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'tap'
import { skipReason } from '../support/stores/postgres.js'
import { hasPostgres } from '../support/stores/postgres-pair.js'

// The benchmarks start a PostgreSQL of their own.
const skip = !hasPostgres && skipReason

const benches: readonly (readonly [name: string, workloads: readonly string[], expectations: readonly RegExp[]])[] = [
  [
    'postgres',
    ['overwrite-256', 'page-10'],
    [
      /^ {2}postgres /m,
      /^ {2}postgres-unbatched /m,
      /^ {2}fastify \+ pg /m,
      /requests per commit/,
      /single-row upserts\/s/,
      /batching reaches/,
    ],
  ],
  ['fenced', ['mixed-90-10'], [/^ {2}postgres-standby /m, /^ {2}postgres-fenced /m]],
]

for (const [name, workloads, expectations] of benches) {
  test(`the benchmark ${name} runs and all its answers are right`, { skip, timeout: 600_000 }, async (t) => {
    const directory = t.testdir()
    const main = join(import.meta.dirname, '../../dist-bench/main.js')
    const args = [main, name, '--smoke', '--dir', directory, '--keep', join(directory, 'kept'), ...workloads]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, NODE_OPTIONS: '' } })
    t.notMatch(stdout, 'NO FIGURES', 'every answer is right')
    for (const expectation of expectations) t.match(stdout, expectation, String(expectation))
  })
}
