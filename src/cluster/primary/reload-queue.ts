/**
 * The order of reloads: one runs, and at most one waits. All requests that arrive during a reload share the waiting one:
 * it starts after these requests, so it reads all settings that were changed before them. Pure: the caller passes the reload itself.
 */

/**
 * @param first the promise that the first reload waits for
 * @param reload performs one reload; never called while another runs
 * @returns a function that requests a reload; the reload starts after the call, and the promise settles as the reload does
 */
export function queueReloads<Done>(first: Promise<unknown>, reload: () => Promise<Done>): () => Promise<Done> {
  let last: Promise<unknown> = first.catch(() => {})
  let waiting: Promise<Done> | undefined
  return () => {
    waiting ??= last.then(() => {
      waiting = undefined
      const running = reload()
      last = running.catch(() => {})
      return running
    })
    return waiting
  }
}
