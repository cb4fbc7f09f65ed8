/**
 * Clearing dead readers. LMDB reuses no page that a reader may still see, and the entry of a reader whose process was
 * killed stays in its table. The file would then grow with every write until some process opens the store.
 *
 * LMDB detects dead readers by their lock on the lock file. Nothing in this program may ever open that file: closing it
 * would release the lock of this process, which is alive.
 */
import type { RootDatabase } from 'lmdb'

/** Between two checks, in ms. One takes some microseconds, and a system call for each other process. */
const checkMs = 1000

/** Checks from now on. The returned function ends the checks, and must be called before the environment is closed. */
export function clearDeadReaders(root: RootDatabase): () => void {
  const timer = setInterval(() => root.readerCheck(), checkMs)
  timer.unref()
  return () => clearInterval(timer)
}
