/** Signals, and waits that a signal can end. */

/** A controller that is aborted with the signal. Aborting it removes its listener, because a signal may outlive many controllers. */
export function controllerWithin(signal: AbortSignal | undefined): AbortController {
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  // Not the option `signal`: Node.js loses such a removal if garbage is collected while several controllers exist.
  controller.signal.addEventListener('abort', () => signal?.removeEventListener('abort', abort))
  return controller
}

/** @throws the signal's reason once it is aborted */
export async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
  signal?.throwIfAborted()
}

/** Leaves no listener on the signal. @throws the signal's reason once it is aborted, even if the work is still running */
export async function unlessAborted<Result>(work: Result | PromiseLike<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
    Promise.resolve(work)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', abort))
  })
}
