/** A topic store over an engine: what every engine does in the same way, put together from the rooms beside this file. */
import type { ApiKeyStore } from '../api-keys.js'
import type { ChangeReader } from '../changes.js'
import type { Engine } from '../engine.js'
import type { TopicReader, TopicRemover, TopicWalker, TopicWriter } from '../topics.js'
import { createKeyRecords, type KeyChange } from './keys.js'
import type { LogReads } from './read/log.js'
import { Reads } from './read/reads.js'
import { walk } from './read/walk.js'
import { Matches } from './removal/matches.js'

/** What changes the store: this process, or another one on its behalf. */
interface CoreWriting extends TopicWriter {
  /** Changes records of API keys. @returns whether it changed anything */
  change(change: KeyChange): Promise<boolean>
}

/** What a store does with topics, their changes and API keys. */
export type CoreStore = TopicReader & TopicWriter & TopicRemover & TopicWalker & ChangeReader & ApiKeyStore

export function createCore(
  engine: Engine,
  writing: CoreWriting,
  { inSnapshot, isAfter, followLog }: LogReads,
): CoreStore {
  const { readTopic, readPage } = new Reads(engine)
  const { removeMatches, countMatches } = new Matches(engine, writing.write)
  return {
    readTopic,
    readPage,
    write: writing.write,
    removeMatches,
    countMatches,
    inSnapshot,
    isAfter,
    followLog,
    ...createKeyRecords(engine, (change) => writing.change(change)),
    walk: (plan, cancellation) => walk(engine, plan, cancellation),
  }
}
