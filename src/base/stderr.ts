/** Lines on standard error: the reason why a process exits, or a warning for a person. Logs go through ops/log.ts. */
import { fstatSync, writeSync } from 'node:fs'

/** Syslog priorities, which the journal reads from the start of a line. */
const priorities = { error: 3, warning: 4 } as const

export function fatal(code: number, reason: string): never {
  writeLine(reason, 'error')
  process.exit(code)
}

export function complain(reason: string): void {
  writeLine(reason, 'warning')
}

function writeLine(reason: string, priority: keyof typeof priorities): void {
  writeError(`${isJournal(2) ? `<${priorities[priority]}>` : ''}topicd: ${reason}\n`)
}

/** True if this output goes to the journal and is not redirected; systemd passes the device and inode of the journal's stream. */
export function isJournal(descriptor: 1 | 2): boolean {
  const { JOURNAL_STREAM: journal } = process.env
  if (journal === undefined) return false
  const { dev, ino } = fstatSync(descriptor)
  return journal === `${dev}:${ino}`
}

/** Writes to standard error. A failure is ignored: there is no other place to report it. */
export function writeError(text: string): void {
  try {
    writeSync(2, text)
  } catch {
    // A full disk, a closed terminal or a disconnected reader.
  }
}
