/** Writing in the process that has the store open for writing: requests are decided and committed here. */
import type { Clock } from '../../../base/clock.js'
import { decider, type Outcome, type Request } from '../../core/write/group.js'
import type { LoggedRecord } from '../../engine.js'
import { Followers } from '../../followers.js'
import { type Receipts, type WriterOutcome, type WriterRequest, withReceipts } from '../../writer/receipts.js'
import { type Writing, writingBy } from '../../writing.js'
import type { Environment } from '../environment/environment.js'
import type { LmdbView } from '../view/view.js'
import { ChangeLog } from './change-log.js'
import { Commits } from './commits.js'
import type { DiskRoom } from './disk-room.js'
import { Transaction } from './transaction.js'

export interface LocalWriting extends Writing {
  readonly commits: Commits<WriterRequest, WriterOutcome>
  /** Notified of each commit once it is on disk, before its requests are settled, with its record in the log, if any. */
  readonly committed: Followers<LoggedRecord | undefined>
  /** @throws as `Commits.commit` */
  commit(request: Request): Promise<Outcome>
}

interface WritingOptions {
  readonly clock: Clock
  /** Called once, with the reason, when commits can no longer be trusted. */
  readonly onBroken: (reason: Error) => void
  readonly room: DiskRoom | undefined
  readonly receipts: Receipts
  readonly changesKept: number | undefined
}

export function createWriting(
  environment: Environment,
  view: LmdbView,
  { clock, onBroken, room, receipts, changesKept }: WritingOptions,
): LocalWriting {
  const committed = new Followers<LoggedRecord | undefined>()
  const transactions = {
    transact: environment.transact,
    stored: view,
    transaction: new Transaction(environment, new ChangeLog(environment.changes, changesKept), clock),
    committed: (record: LoggedRecord | undefined) => committed.notify(record),
  }
  const commits = new Commits(transactions, withReceipts(decider, receipts), onBroken, room)
  const commit = (request: Request): Promise<Outcome> => commits.commit({ request }) as Promise<Outcome>
  return {
    commits,
    committed,
    commit,
    ...writingBy(commit),
    follow: (onGrown) => committed.add((record) => record && onGrown(record)),
    close: () => commits.close(),
  }
}
