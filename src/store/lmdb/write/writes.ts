/** The write half of the engine, in the process that writes: transactions of lmdb, and what is done in them. */
import type { Clock } from '../../../base/clock.js'
import type { ChangeReader } from '../../changes.js'
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
export interface Writing extends TopicWriter, Pick<ChangeReader, 'followLog'> {
  /** Makes a small change, such as one to an API key. @returns whether it changed anything */
  change(change: SmallChange): Promise<boolean>
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
  /** Called once it is on disk. @param isLogged whether it changed any topic */
  readonly committed: (isLogged: boolean) => void
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
  const followers = new Followers()
  let isLogged = false
  const transactions = {
    transact: environment.transact,
    begin: () => new TopicChanges(environment, clock, slabs, log),
    end() {
      isLogged = log.put()
      hooks?.end()
    },
    committed() {
      hooks?.committed(isLogged)
      if (isLogged) followers.notify()
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
    followLog: (onGrown) => followers.add(onGrown),
    close: () => commits.close(),
  }
}
