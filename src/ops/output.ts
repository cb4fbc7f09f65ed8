/**
 * Standard output, for the log and other output of the service. A write never throws and never waits for a reader. A full disk, a
 * closed terminal, or a reader that has exited or stopped reading must neither stop nor block a service.
 *
 * If standard output is a pipe or a terminal, it is opened again for this process alone, in non-blocking mode. The mode
 * belongs to the open file, which other programs may share.
 */
import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'

export const onTerminal = isatty(1)

const descriptor = openUnblocking()

/** True if only part of the last line was written, so the next line must start with a line feed. */
let torn = false

/** Immediately writes `text`, which ends with a line feed. Returns false if not all of it could be written. */
export function print(text: string): boolean {
  const bytes = Buffer.from(torn ? `\n${text}` : text)
  let written = 0
  try {
    while (written < bytes.length) written += writeSync(descriptor, bytes, written)
    torn = false
    return true
  } catch {
    torn ||= written > 0
    return false
  }
}

function openUnblocking(): number {
  if (onTerminal || isPipe()) {
    try {
      return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
    } catch {
      // The pipe belongs to another account, its reader has exited, or the system has no /proc.
    }
  }
  // Accessing the stream is enough: Node sets pipes and sockets, such as the journal's, to non-blocking. Files never
  // block for long.
  void process.stdout
  return 1
}

function isPipe(): boolean {
  try {
    return fstatSync(1).isFIFO()
  } catch {
    return false
  }
}

const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor))

// At exit Node restores the terminals' modes, and aborts if a terminal no longer exists; it skips closed descriptors.
process.on('exit', () => {
  for (const descriptor of terminals) if (!isatty(descriptor)) closeSync(descriptor)
})
