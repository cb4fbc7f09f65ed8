/** What carries out writes: this process, or another one on its behalf. */
import type { Outcome, Request } from './core/write/group.js'
import { prepare } from './core/write/operations.js'
import type { RecordChange } from './core/write/records.js'
import type { LoggedRecord } from './engine.js'
import type { BatchResult, TopicWriter } from './topics.js'

export interface Writing extends TopicWriter {
  /** Changes small records, such as that of an API key. @returns whether it changed anything */
  change(change: RecordChange): Promise<boolean>
  /** As `follow` of an engine. */
  follow(onGrown: (record: LoggedRecord | undefined) => void): () => void
  /** Refuses further writes; resolves once all others are done. */
  close(): Promise<void>
}

/** Of the process that decides: `commit` does so, and makes the changes. */
export function writingBy(commit: (request: Request) => Promise<Outcome>): Pick<Writing, 'write' | 'change'> {
  return {
    write: (operations, isAtomic = true) =>
      commit({ operations: operations.map(prepare), isAtomic }) as Promise<BatchResult>,
    change: (change) => commit({ change }) as Promise<boolean>,
  }
}
