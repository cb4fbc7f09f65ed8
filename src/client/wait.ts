/** Signals, and waiting, which a signal can end. Nothing else. */

/** Aborted with the signal, on which it leaves nothing once it is aborted: a signal may outlive many of them. */
export function controllerWithin(signal: AbortSignal | undefined): AbortController {
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { signal: controller.signal })
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

/** Leaves nothing on the signal. @throws the signal's reason once it is aborted, whether or not the work has ended */
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
