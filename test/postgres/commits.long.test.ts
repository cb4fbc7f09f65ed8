/** How the writes of a statement are counted, with an engine of the test's own. */
import t from 'tap'
import type { RequestGroup } from '../../dist/store/postgres/connection/batcher.js'
import { Commits } from '../../dist/store/postgres/write/commits.js'
import type { WriteRequest } from '../../dist/store/postgres/write/write-requests.js'

const plain = { name: 'write', text: '' }
const statement = { plain, logged: plain }

/** Two groups of writes, three in all. */
function groups(): RequestGroup<WriteRequest>[] {
  const request = (id: string): WriteRequest => ({ id, bytes: 1, sinceMs: 0, reject() {}, key: Buffer.from(id) })
  return [[request('a'), request('a')], [request('b')]]
}

function commitsOf(answer: () => Promise<object[]>): Commits {
  return new Commits(answer as ConstructorParameters<typeof Commits>[0])
}

await t.test(
  'the writes of a statement count once it is committed, those of one that changed nothing do not',
  async (t) => {
    let answer: (rows: object[]) => void = () => {}
    const commits = commitsOf(() => new Promise((resolve) => (answer = resolve)))
    for (const [rows, writes] of [
      [[{}], 3],
      [[], 3],
    ] as const) {
      const executed = commits.execute(statement, groups(), [])
      t.match(commits.stats, { inFlight: 3 })
      answer([...rows])
      await executed
      t.match(commits.stats, { inFlight: 0, failed: 0, writes })
    }
    t.match(commits.stats.batches.read(), { sum: 3 })
  },
)

await t.test('the writes of a statement that failed count, and count as failed', async (t) => {
  const commits = commitsOf(() => Promise.reject(new Error('the link is cut')))
  await t.rejects(commits.execute(statement, groups(), []), { message: 'the link is cut' })
  t.match(commits.stats, { inFlight: 0, failed: 3, writes: 3 })
})
