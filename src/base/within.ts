/** A time limit for waiting on a promise. Nothing here stops the work; work that can be stopped takes an AbortSignal instead. */

/**
 * Settles like `promise`, or after `ms` like the result of `onLate`; an exception from `onLate` becomes a rejection. The later
 * outcome of the promise is then ignored, even if it fails. No timer is left running.
 *
 * @param onLate may return the promise itself, to keep waiting; by default, the result of a late promise is undefined
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
