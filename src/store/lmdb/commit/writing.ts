/** Writing in the process that has the store open for it: requests are decided and committed here. */
import type { Clock } from '../../../base/clock.js'
import { decider, type Outcome, type Request } from '../../core/write/group.js'
import { prepare } from '../../core/write/operations.js'
import type { LoggedRecord } from '../../engine.js'
import { Followers } from '../../followers.js'
import type { BatchResult } from '../../topics.js'
import { type Receipts, type WriterOutcome, type WriterRequest, withReceipts } from '../../writer/receipts.js'
import type { Writing } from '../../writing.js'
import type { Environment } from '../environment/environment.js'
import type { LmdbView } from '../view/view.js'
import { ChangeLog } from './change-log.js'
import { Commits } from './commits.js'
import type { DiskRoom } from './disk-room.js'
import { Transaction } from './transaction.js'

export interface LocalWriting extends Writing {
  readonly commits: Commits<WriterRequest, WriterOutcome>
  /** @throws as `Commits.commit` does */
  commit(request: Request): Promise<Outcome>
}

interface WritingOptions {
  readonly clock: Clock
  /** Called once, with the reason, when commits can no longer be trusted. */
  readonly onBroken: (reason: Error) => void
  readonly room: DiskRoom | undefined
  readonly receipts: Receipts
  /** Called when a commit is on disk, before its requests are settled. @param record its record in the log */
  readonly onCommitted: (record: LoggedRecord | undefined) => void
  readonly changesKept: number | undefined
}

export function createWriting(
  environment: Environment,
  view: LmdbView,
  { clock, onBroken, room, receipts, onCommitted, changesKept }: WritingOptions,
): LocalWriting {
  const followers = new Followers<LoggedRecord>()
  const transactions = {
    transact: environment.transact,
    transaction: new Transaction(environment, view, new ChangeLog(environment.changes, changesKept), clock),
    committed(record: LoggedRecord | undefined) {
      onCommitted(record)
      if (record !== undefined) followers.notify(record)
    },
  }
  const commits = new Commits(transactions, withReceipts(decider, receipts), onBroken, room)
  const commit = (request: Request): Promise<Outcome> => commits.commit({ request }) as Promise<Outcome>
  return {
    commits,
    commit,
    write: (operations, isAtomic = true) =>
      commit({ operations: operations.map(prepare), isAtomic }) as Promise<BatchResult>,
    change: (change) => commit({ change }) as Promise<boolean>,
    follow: (onGrown) => followers.add(onGrown),
    close: () => commits.close(),
  }
}
