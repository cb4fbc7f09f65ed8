/**
 * What the primary and its children say to each other, over Node's IPC. A rolling restart may bring in workers of a newer
 * build, so kinds are added, not changed.
 */
import type { Config } from '../config.js'
import type { WorkerStats } from '../ops/worker-stats.js'
import type { KeyRecord } from '../store/store.js'

/** The primary's words to a child that may open the store. */
export type ToChild =
  /** The first word, to a child that has loaded: earlier ones may go unheard. The port is a real one. */
  | { readonly kind: 'start'; readonly config: Config; readonly port: number }
  /** Nobody writes now: open the store. */
  | { readonly kind: 'open' }
  /** Listen, and serve. */
  | { readonly kind: 'serve' }
  /** Finish the commits in flight and start none until `release`. */
  | { readonly kind: 'hold' }
  | { readonly kind: 'release' }
  /** From now on carry out what is due, or leave it to another. */
  | { readonly kind: 'housekeep'; readonly enabled: boolean }
  /** Answer what is in flight, close the store, end. */
  | { readonly kind: 'drain' }
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question }
  /** Tell your figures; with `stored`, what the store holds as well. */
  | { readonly kind: 'measure'; readonly stored: boolean }

/** A child's words to the primary. */
export type FromChild =
  /** Everything is loaded, and words are heard from now on; opening will take milliseconds. */
  | { readonly kind: 'loaded'; readonly version: string }
  | { readonly kind: 'opened' }
  | { readonly kind: 'serving' }
  | { readonly kind: 'held' }
  /** Sent every second by an event loop that turns. */
  | { readonly kind: 'heartbeat'; readonly writable: boolean; readonly storeProblem?: string | undefined }
  /** As asked, and once more when it has drained: what it counted is not to be lost. */
  | { readonly kind: 'figures'; readonly figures: WorkerStats }
  /** It cannot go on, for this reason, and ends. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** Its commits can no longer be trusted: it gives the answers that are due, and ends. */
  | { readonly kind: 'broken' }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'unanswered'; readonly id: number; readonly reason: string }

/** What a worker answers about API keys, for the command line. */
export type Question =
  | { readonly about: 'addKey'; readonly record: KeyRecord }
  | { readonly about: 'revokeKey'; readonly name: string }
  | { readonly about: 'listKeys' }

export interface ListedKey extends KeyRecord {
  readonly usedMs: number | undefined
}
