/**
 * The log: one JSON line an event on standard output, never a token, never a value. Each process writes its own lines;
 * under 4,096 bytes, lines of several processes on one pipe never tear.
 */
import { writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'

export type { Logger }

/** Syslog priorities by pino's levels, for the journal: it takes `<N>` before a line. */
const journalPriorities: Readonly<Record<number, number>> = { 10: 7, 20: 7, 30: 6, 40: 4, 50: 3, 60: 2 }

/** systemd sets this for services whose output goes to the journal. */
const inJournal = process.env.JOURNAL_STREAM !== undefined

const levelOf = /^\{"level":(\d+)/

/** @param role which process writes: "primary", "worker" or the name of a tool */
export function createLog(role: string): Logger {
  return pino(
    { base: { pid: process.pid, role }, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => write(inJournal ? `<${journalPriorities[Number(levelOf.exec(line)?.[1])]}>${line}` : line) },
  )
}

/** Written at once, so that the last words of a process are not lost; a reader that has gone is no reason to stop. */
function write(line: string): void {
  try {
    writeSync(1, line)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EAGAIN' && code !== 'EPIPE') throw error
  }
}
