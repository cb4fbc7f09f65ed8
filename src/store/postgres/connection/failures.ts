/** The meaning of failed statements, and the StoreErrors for callers. Retries and reuse are up to connections.ts. */
import { StoreError } from '../../errors.js'
import { lateState, staleState } from '../sql/statement.js'
import { isPlainError, stateOf, Warned } from './session.js'

type Meaning =
  /** The statement lost a conflict with another one and changed nothing. */
  | 'conflict'
  /** Its premises no longer hold: it changed nothing and must be decided again. */
  | 'stale'
  /** It started too late by the engine's clock, and changed nothing. */
  | 'late'
  /** It changed nothing: the disk is full. */
  | 'full'
  /** It changed nothing: the engine refused it or did not finish it in time. */
  | 'unavailable'
  /** It is unknown whether the statement was executed, or whether its effect will last. */
  | 'lost'
  /** It changed nothing, and retrying is useless: the statement, the schema or the engine is wrong. */
  | 'wrong'

/** SQLSTATEs, or their first two characters; except for `lost`, the engine has changed nothing after these errors. */
const meanings: Readonly<Record<string, Meaning>> = {
  [lateState]: 'late',
  '40001': 'conflict', // serialization failure
  '40P01': 'conflict', // deadlock
  [staleState]: 'stale',
  '40003': 'lost', // statement completion unknown
  '53100': 'full', // disk full
  '53': 'unavailable', // out of memory, connections or other resources
  '25006': 'unavailable', // the engine is now read-only: a standby, after a failover
  '55P03': 'unavailable', // lock not available
  '57014': 'unavailable', // statement_timeout, or cancelled by an administrator
  '57': 'lost', // the engine shuts down or crashes
  '08': 'lost', // connection
  '58': 'lost', // the operating system
}

/** A defect in this program's work within a transaction, which is rolled back. */
export class Defect extends Error {}

/** Errors that the engine did not report, such as those of the connection, are `lost`, except a Defect or a StoreError. */
export function meaningOf(error: unknown): Meaning {
  if (error instanceof Defect) return 'wrong'
  if (error instanceof StoreError) return 'unavailable'
  const code = stateOf(error)
  if (code === undefined) return 'lost'
  const meaning = meanings[code] ?? meanings[code.slice(0, 2)] ?? 'wrong'
  // A FATAL error or a PANIC closes the connection, and may arrive after the commit. Severities may be in another language; then
  // trust only the meanings that only an ERROR can have.
  return isPlainError(error) || meaning === 'conflict' || meaning === 'stale' ? meaning : 'lost'
}

/** Returns a StoreError, and an error with the meaning `stale` or `wrong`, unchanged. */
export function writeFailure(error: unknown, meaning: Meaning): unknown {
  if (error instanceof StoreError) return error
  const { message } = error as Error
  switch (meaning) {
    case 'conflict':
      return new StoreError('retry', `too many concurrent statements: ${message}`, { cause: error })
    case 'late':
      return new StoreError('unavailable', 'the write reached the PostgreSQL server too late', { cause: error })
    case 'full':
    case 'unavailable':
      return new StoreError(meaning, message, { cause: error })
    case 'lost': {
      const reason = error instanceof Warned ? message : `the connection to the PostgreSQL server was lost: ${message}`
      return new StoreError('unknown_outcome', reason, { cause: error })
    }
    case 'stale':
    case 'wrong':
      return error
  }
}

/** A failed read never changes anything. */
export function readFailure(error: unknown, meaning: Meaning): unknown {
  return writeFailure(error, meaning === 'lost' ? 'unavailable' : meaning)
}
