/**
 * The part of a topic store that is the same for every engine, assembled from the folders next to this file. The operations are
 * arrow functions in fields and therefore bound, so the store can expose them without wrappers.
 */
import type { DueRemover } from '../due-removals.js'
import type { Engine } from '../engine.js'
import type { StoreCopier } from '../maintenance.js'
import type { StoreMonitor } from '../monitoring.js'
import type { Availability, TopicStore } from '../store.js'
import type { Writing } from '../writing.js'
import { check } from './check/check.js'
import { createKeyRecords } from './keys.js'
import { LogReads } from './read/log.js'
import { Reads } from './read/reads.js'
import { walk } from './read/walk.js'
import { Matches } from './removal/matches.js'

/** Everything except the parts that depend on the engine. */
interface CoreStore
  extends Omit<TopicStore, keyof DueRemover | keyof StoreCopier | keyof StoreMonitor | keyof Availability | 'close'>,
    Pick<LogReads, 'readRange'> {}

/** @param onUnreadable called once for each record of the log that cannot be read */
export function createCore(
  engine: Engine,
  writing: Pick<Writing, 'write' | 'change'>,
  onUnreadable: (reason: Error) => void = () => {},
): CoreStore {
  const { readTopic, readPage } = new Reads(engine)
  const { removeMatches, countMatches } = new Matches(engine, writing.write)
  const { inSnapshot, isAfter, followLog, readRange } = new LogReads(engine, onUnreadable)
  return {
    readTopic,
    readPage,
    write: writing.write,
    removeMatches,
    countMatches,
    inSnapshot,
    isAfter,
    followLog,
    readRange,
    ...createKeyRecords(engine, (change) => writing.change(change)),
    walk: (plan, cancellation) => walk(engine, plan, cancellation),
    check: (...asked) => check(engine, ...asked),
  }
}
