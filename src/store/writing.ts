/** What carries out writes: this process, or another one on its behalf. */
import type { RecordChange } from './core/write/records.js'
import type { LoggedRecord } from './engine.js'
import type { TopicWriter } from './topics.js'

export interface Writing extends TopicWriter {
  /** Changes small records, such as that of an API key. @returns whether it changed anything */
  change(change: RecordChange): Promise<boolean>
  /** As `follow` of an engine. */
  follow(onGrown: (record: LoggedRecord | undefined) => void): () => void
  /** Refuses further writes; resolves once all others are done. */
  close(): Promise<void>
}
