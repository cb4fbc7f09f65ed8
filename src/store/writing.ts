/** Executes writes, in this process or through another one. */
import type { Outcome, Request } from './core/write/group.js'
import { prepare } from './core/write/operations.js'
import type { RecordChange } from './core/write/records.js'
import type { LoggedRecord } from './engine.js'
import type { BatchResult, TopicWriter } from './topics.js'

export interface Writing extends TopicWriter {
  /** Changes small records, such as an API key. @returns false if the change was rejected */
  change(change: RecordChange): Promise<boolean>
  /** See `Engine.follow`. */
  follow(onGrown: (record: LoggedRecord | undefined) => void): () => void
  /** Rejects further writes; resolves once all others are done. */
  close(): Promise<void>
}

/** For the process that decides requests: `commit` decides a request and applies its changes. */
export function writingBy(commit: (request: Request) => Promise<Outcome>): Pick<Writing, 'write' | 'change'> {
  return {
    write: (operations, isAtomic = true) =>
      commit({ operations: operations.map(prepare), isAtomic }) as Promise<BatchResult>,
    change: (change) => commit({ change }) as Promise<boolean>,
  }
}
