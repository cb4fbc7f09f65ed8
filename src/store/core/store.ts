/** A topic store over an engine: what every engine does in the same way, put together from the rooms beside this file. */
import type { ApiKeyStore } from '../api-keys.js'
import type { ChangeReader } from '../changes.js'
import type { Engine } from '../engine.js'
import type { TopicReader, TopicRemover, TopicWalker, TopicWriter } from '../topics.js'
import type { Writing } from '../writing.js'
import { createKeyRecords } from './keys.js'
import type { LogReads } from './read/log.js'
import { Reads } from './read/reads.js'
import { walk } from './read/walk.js'
import { Matches } from './removal/matches.js'

export type CoreStore = TopicReader & TopicWriter & TopicRemover & TopicWalker & ChangeReader & ApiKeyStore

export function createCore(
  engine: Engine,
  writing: Pick<Writing, 'write' | 'change'>,
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
