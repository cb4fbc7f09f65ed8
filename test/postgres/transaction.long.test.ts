/** A transaction of several statements, on a session that is simulated: what it sends, and what its failures mean. */
import t from 'tap'
import { Defect } from '../../dist/store/postgres/connection/failures.js'
import type { Session } from '../../dist/store/postgres/connection/session.js'
import { type Statements, Transaction } from '../../dist/store/postgres/connection/transaction.js'
import type { Statement } from '../../dist/store/postgres/sql/statement.js'

const update: Statement<never> = { name: 'update', text: 'update' }

function openTransaction(failing?: string): { readonly transaction: Transaction; readonly sent: string[] } {
  const sent: string[] = []
  const execute = async ({ name }: Statement<unknown>): Promise<readonly never[]> => {
    sent.push(name)
    if (name === failing) throw new Error('lost')
    return []
  }
  const session = { change: execute, execute } as unknown as Session
  return { transaction: new Transaction(session, 0, () => 1000), sent }
}

t.test('it commits only if its work says so', async (t) => {
  for (const commits of [true, false]) {
    const { transaction, sent } = openTransaction()
    const result = await transaction.execute(async ({ write }) => {
      await write(update, [])
      return { result: 7, commits }
    }, 3)
    t.equal(result, 7)
    t.strictSame(sent, ['begin', 'update', commits ? 'commit' : 'rollback'])
    t.equal(transaction.isCommitting, commits)
  }
})

t.test('what was changed is logged once, in a lane, if there is something', async (t) => {
  for (const [changed, expected] of [
    [[{ key: '\\x61', version: '1' }], ['begin', 'append_changes', 'commit']],
    [[], ['begin', 'commit']],
  ] as const) {
    const { transaction, sent } = openTransaction()
    await transaction.execute(async ({ log }) => {
      await log(changed)
      return { result: undefined, commits: true }
    }, 3)
    t.strictSame(sent, expected)
  }
})

t.test('a statement that fails is no defect, and nothing is committed', async (t) => {
  const { transaction, sent } = openTransaction('update')
  const work = async ({ write }: Statements) => ({ result: await write(update, []), commits: true })
  const failed = transaction.execute(work, 3)
  await t.rejects(failed, { message: 'lost' })
  t.notOk(transaction.isCommitting)
  t.strictSame(sent, ['begin', 'update'])
})

t.test('anything else that its work throws is a defect of ours, and keeps its cause', async (t) => {
  const { transaction, sent } = openTransaction()
  const planted = new TypeError('planted')
  const error = await transaction.execute(() => Promise.reject(planted), 3).catch((error: unknown) => error)
  t.ok(error instanceof Defect && error.cause === planted)
  t.strictSame(sent, ['begin'])
  t.notOk(await transaction.rollBack(error), 'its session is not used again')
})
