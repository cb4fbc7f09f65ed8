/** The write half of the engine: transactions of lmdb, what is committed in them, and the writes of topics. */
import type { Clock } from '../clock.js'
import type { TopicStore } from '../store.js'
import { Commits } from './commits.js'
import type { DiskRoom } from './disk-room.js'
import type { Environment } from './environment.js'
import { Slabs } from './slab.js'
import { prepare, sizeOf, TopicChanges } from './topic-changes.js'

interface Writes extends Pick<TopicStore, 'write'> {
  /** They also carry the writes that are not of topics, and removals. */
  readonly commits: Commits
}

/** @param clock what topics' times are taken from; the other parameters are those of `Commits` */
export function createWrites(
  environment: Environment,
  clock: Clock,
  onBroken: (reason: Error) => void,
  room?: DiskRoom,
): Writes {
  const slabs = new Slabs()
  const transactions = {
    // Asynchronous, so that what lmdb throws at once is a rejection as well.
    transact: async (callback: () => void) => environment.root.transaction(callback),
    begin: () => new TopicChanges(environment, clock, slabs),
  }
  const commits = new Commits(transactions, onBroken, room)
  return {
    commits,
    write(operations) {
      const prepared = operations.map((operation) => prepare(operation, slabs))
      return commits.run((changes) => changes.decide(prepared), sizeOf(prepared))
    },
  }
}
