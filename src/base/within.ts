/** The time limit of a promise. Work that can be stopped takes an AbortSignal instead: nothing here stops it. */

/**
 * Settles as `promise` does, or after `ms` as `onLate` does, whose exception counts as a rejection. What becomes of the
 * promise after that, a failure included, is ignored. No timer is left behind.
 *
 * @param onLate may return the promise itself, to wait on for it; without it, a late one resolves to undefined
 */
export async function within<T, Late = undefined>(
  ms: number,
  promise: Promise<T>,
  onLate: () => Late | Promise<Late> = () => undefined as Late,
): Promise<T | Late> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))).then(onLate)
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
