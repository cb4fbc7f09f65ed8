/**
 * A transaction of several statements that changes something, on a session that its caller has acquired and takes care
 * of afterwards. Until the commit is sent, nothing is changed, whatever fails.
 */

import type { Execute, Statement } from '../sql/statement.js'
import { Defect, meaningOf } from './failures.js'
import type { Session } from './session.js'

const begin: Statement<never> = { name: 'begin', text: 'begin transaction isolation level read committed' }
const commit: Statement<never> = { name: 'commit', text: 'commit' }
const rollback: Statement<never> = { name: 'rollback', text: 'rollback' }

/** What the statements of a transaction are executed with. */
export interface Statements {
  readonly read: Execute
  /** For statements that end in `inTime`, whose time is appended to the parameters. */
  readonly write: Execute
}

/** The result of a transaction's work, and whether it is to be committed; otherwise it is rolled back. */
export interface Transacted<T> {
  readonly result: T
  readonly commits: boolean
}

export class Transaction {
  #isCommitting = false

  /**
   * @param beginByMs when the last of its statements must begin, by the engine's clock
   * @param answerMsMax returns how long a statement may take that is sent now
   */
  constructor(
    private readonly session: Session,
    private readonly beginByMs: number,
    private readonly answerMsMax: () => number,
  ) {}

  /** Whether the commit was sent: a failure after that leaves the outcome unknown. */
  get isCommitting(): boolean {
    return this.#isCommitting
  }

  /**
   * @throws any error of the session; Defect for any other error of `work`. The transaction is still open then, unless
   *   the session is lost
   */
  async execute<T>(work: (statements: Statements) => Promise<Transacted<T>>): Promise<T> {
    let failure: unknown
    const read: Execute = (statement, parameters) =>
      this.session.change(statement, parameters, this.answerMsMax()).catch((error: unknown) => {
        failure = error
        throw error
      })
    await read(begin, [])
    const write: Execute = (statement, parameters) => read(statement, [...parameters, this.beginByMs])
    const { result, commits } = await work({ read, write }).catch((error: unknown) => {
      throw error === failure
        ? error
        : new Defect(`a transaction failed: ${(error as Error).message}`, { cause: error })
    })
    this.#isCommitting = commits
    await read(commits ? commit : rollback, [])
    return result
  }

  /** Rolls back after `error`. @returns whether the session can be used again */
  async rollBack(error: unknown): Promise<boolean> {
    const meaning = meaningOf(error)
    if (this.#isCommitting || (meaning !== 'conflict' && meaning !== 'late')) return false
    try {
      await this.session.execute(rollback, [], this.answerMsMax())
      return true
    } catch {
      return false
    }
  }
}
