/**
 * The log: one JSON line per event on standard output, never a token, never a value; on a terminal the same in a form
 * for people. Each process writes its own lines; up to 4,096 bytes, lines of several processes on one pipe never mix.
 *
 * A line is written at once, so that the last lines of a process are not lost. A line that cannot be written is dropped
 * and counted, and the next one that can be is followed by a line with the number of lost lines.
 */
import { type Logger, pino } from 'pino'
import { exitCodes } from '../base/exit-codes.js'
import { StoreError } from '../store/errors.js'
import { onTerminal, print } from './output.js'

export type { Logger }

/** Syslog priorities by pino's levels, for the journal: it takes `<N>` before a line. */
const journalPriorities: Readonly<Record<number, number>> = { 10: 7, 20: 7, 30: 6, 40: 4, 50: 3, 60: 2 }

/** systemd sets this for services whose output goes to the journal. */
const inJournal = process.env.JOURNAL_STREAM !== undefined

const levelOf = /^\{"level":(\d+)/

type Format = (line: string) => string

const toJournal: Format = (line) => `<${journalPriorities[Number(levelOf.exec(line)?.[1])]}>${line}`

const format: Format = onTerminal ? await formatForPeople() : inJournal ? toJournal : (line) => line

/** Loaded only where a person reads the log. */
async function formatForPeople(): Promise<Format> {
  const { prettyFactory } = await import('pino-pretty')
  // All settings in one line are not for people: `topicd settings` prints them.
  return prettyFactory({ translateTime: 'SYS:HH:MM:ss.l', singleLine: true, ignore: 'config' }) as Format
}

let dropped = 0

export function logLinesDropped(): number {
  return dropped
}

/** @param role of the process that writes: "primary", "worker" or "tool" */
export function createLog(role: string): Logger {
  /** Dropped lines that no line has reported yet. */
  let unreported = 0
  function write(line: string): void {
    if (!print(format(line))) {
      dropped++
      unreported++
    } else if (unreported > 0) {
      const count = unreported
      unreported = 0
      const droppedBefore = dropped
      log.warn({ count }, 'log lines were lost')
      if (dropped > droppedBefore) unreported += count
    }
  }
  const { pid } = process
  // A terminal's format has a place for a name.
  const log = pino(
    { base: onTerminal ? { name: role, pid } : { pid, role }, timestamp: pino.stdTimeFunctions.isoTime },
    { write },
  )
  return log
}

/** The members of a line about a failure. One of the store is the machine's: its stack says nothing. */
export function failureMembers(error: unknown): { readonly reason: string } | { readonly err: unknown } {
  return error instanceof StoreError ? { reason: error.message } : { err: error }
}

/** Logs a defect (an uncaught exception or an unhandled rejection) in one line with its stack, and exits. */
export function logCrashes(log: Logger): void {
  process.on('uncaughtException', (error: unknown) => {
    log.error({ err: error instanceof Error ? error : new Error(String(error)) }, 'crashed')
    process.exit(exitCodes.failed)
  })
}
