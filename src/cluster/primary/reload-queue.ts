/**
 * The order of reloads: one at a time, and at most one that waits. All requests that arrive while one runs share the
 * one that waits: it begins after them, so it reads what they have changed. Pure: the caller passes what a reload does.
 */

/**
 * @param first what the first reload waits for
 * @param reload does one reload; never called while another runs
 * @returns requests a reload that begins after the call; settles as that reload does
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
