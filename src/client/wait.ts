/** Signals, and waiting, which a signal can end. Nothing else. */

/** Aborts the controller when the signal is aborted. @returns ends that: a signal may outlive many of them */
export function abortWith(signal: AbortSignal | undefined, controller: AbortController): () => void {
  const abort = () => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  return () => signal?.removeEventListener('abort', abort)
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
