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
