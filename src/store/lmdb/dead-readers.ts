/**
 * Clearing dead readers away. LMDB uses no page again that a reader may still see, and the entry of a reader whose process was
 * killed stays in its table; so the file would grow with every write until some process opens the store.
 *
 * lmdb finds the dead by their lock on the lock file: nothing in this program may ever open that file, since closing it would let
 * go of the lock of a process that lives.
 */
import type { RootDatabase } from 'lmdb'

/** Between two looks, in ms. A look takes some microseconds, and a system call for each other process. */
const lookMs = 1000

/** Looks from now on, until the function that it answers is called, which has to be before the environment is closed. */
export function clearDeadReaders(root: RootDatabase): () => void {
  const timer = setInterval(() => root.readerCheck(), lookMs)
  timer.unref()
  return () => clearInterval(timer)
}
