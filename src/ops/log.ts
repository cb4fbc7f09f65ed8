/**
 * The log: one JSON line per event on standard output, never a token, never a value; a terminal gets a readable form of
 * it. Each process writes its own lines; lines of up to 4,096 bytes from several processes on one pipe never mix.
 *
 * A line is written immediately, so that the last lines of a process are not lost. A line that cannot be written is
 * dropped and counted. After the next line that can be written, another line reports the number of lost lines.
 */
import { type Logger, pino } from 'pino'
import { exitCodes } from '../base/exit-codes.js'
import { isJournal } from '../base/stderr.js'
import { StoreError } from '../store/errors.js'
import { onTerminal, print } from './output.js'

export type { Logger }

/** Syslog priorities by pino's levels, for the journal, which reads `<N>` at the start of a line. */
const journalPriorities: Readonly<Record<number, number>> = { 10: 7, 20: 7, 30: 6, 40: 4, 50: 3, 60: 2 }

const levelOf = /^\{"level":(\d+)/

type Format = (line: string) => string

const toJournal: Format = (line) => `<${journalPriorities[Number(levelOf.exec(line)?.[1])]}>${line}`

const format: Format = onTerminal ? await formatForPeople() : isJournal(1) ? toJournal : (line) => line

/** Loads the formatter, which is needed only on a terminal. */
async function formatForPeople(): Promise<Format> {
  const { prettyFactory } = await import('pino-pretty')
  // All settings on one line are hard to read; `topicd settings` prints them.
  return prettyFactory({ translateTime: 'SYS:HH:MM:ss.l', singleLine: true, ignore: 'config' }) as Format
}

let dropped = 0

export function logLinesDropped(): number {
  return dropped
}

/** @param role the role of this process, such as "primary", "worker" or "tool" */
export function createLog(role: string): Logger {
  /** The number of dropped lines that have not been reported yet. */
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
  // The terminal format shows the member `name`.
  const log = pino(
    { base: onTerminal ? { name: role, pid } : { pid, role }, timestamp: pino.stdTimeFunctions.isoTime },
    { write },
  )
  return log
}

/** The members of a line about a failure. A store failure is a fault of the machine, so its stack is omitted. */
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
