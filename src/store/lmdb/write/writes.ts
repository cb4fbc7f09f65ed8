/** The write half of the engine, in the process that writes: transactions of lmdb, and what is done in them. */
import type { Clock } from '../../../base/clock.js'
import type { LoggedRecord } from '../../engine.js'
import { Followers } from '../../shared/followers.js'
import type { BatchResult, TopicWriter } from '../../topics.js'
import type { Environment } from '../environment/environment.js'
import { ChangeLog } from './change-log.js'
import { Commits, type Task } from './commits.js'
import type { DiskRoom } from './disk-room.js'
import { Slabs } from './slab.js'
import { taskOfChange } from './small-changes.js'
import { prepare, sizeOf, TopicChanges } from './topic-changes.js'
import type { Request, SmallChange } from './wire.js'

/** Whatever writes: this process, or the writer on its behalf. */
export interface Writing extends TopicWriter {
  /** Makes a small change, such as one to an API key. @returns whether it changed anything */
  change(change: SmallChange): Promise<boolean>
  /**
   * Calls `onGrown` soon after commits have changed topics, until the returned function is called: with the record of the
   * only one, valid during the call, or without any.
   */
  followRecords(onGrown: (record: LoggedRecord | undefined) => void): () => void
  /** Refuses further writes; resolves once all others are done. */
  close(): Promise<void>
}

export interface LocalWriting extends Writing {
  /** They also carry the writes that are not of topics. */
  readonly commits: Commits
  /** What a request of another process does. */
  readonly taskOf: (request: Request) => Task<BatchResult | boolean>
}

/** What belongs to each transaction as a whole. */
export interface CommitHooks {
  /** Called last in it. */
  readonly end: () => void
  /** Called once it is on disk. @param record its record in the log, valid during the call, if it changed any topic */
  readonly committed: (record: LoggedRecord | undefined) => void
}

/**
 * @param clock what topics' times are taken from
 * @param changesKept how many changes the log keeps; the other parameters are those of `Commits`
 */
export function createWriting(
  environment: Environment,
  clock: Clock,
  onBroken: (reason: Error) => void,
  room?: DiskRoom,
  hooks?: CommitHooks,
  changesKept?: number,
): LocalWriting {
  const slabs = new Slabs()
  const log = new ChangeLog(environment.changes, changesKept)
  const followers = new Followers<LoggedRecord>()
  let record: LoggedRecord | undefined
  const transactions = {
    transact: environment.transact,
    begin: () => new TopicChanges(environment, clock, slabs, log),
    end() {
      record = log.put()
      hooks?.end()
    },
    committed() {
      hooks?.committed(record)
      if (record !== undefined) followers.notify(record)
    },
  }
  const commits = new Commits(transactions, onBroken, room)
  const taskOf = (request: Request): Task<BatchResult | boolean> => {
    if ('change' in request) return taskOfChange(environment, request.change)
    const { operations, isAtomic } = request
    return { work: (changes) => changes.decide(operations, isAtomic), size: sizeOf(operations) }
  }
  return {
    commits,
    taskOf,
    write(operations, isAtomic = true) {
      const prepared = operations.map((operation) => prepare(operation, slabs))
      return commits.run((changes) => changes.decide(prepared, isAtomic), sizeOf(prepared))
    },
    change(change) {
      const { work, size } = taskOfChange(environment, change)
      return commits.run(work, size)
    },
    followRecords: (onGrown) => followers.add(onGrown),
    close: () => commits.close(),
  }
}
